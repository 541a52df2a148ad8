package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The values of the store. Each of the functions that take a coder lists the
// fields of one type, for writing and for reading. The order of the fields is the
// format: new ones need a new version.

// event codes a record about a job. The job itself is not coded: the key under
// which the bytes are stored names it.
func (c *coder) event(e *Record) {
	below(c, &e.Kind, numKinds, "the kind")
	switch e.Kind {
	case Placed, Moved:
		number(c, &e.First)
		number(c, &e.Count)
		number(c, &e.Attempt)
		number(c, &e.Group)
	case NewAttempt, NewAttempts, Lost:
		number(c, &e.First)
		if e.Kind == NewAttempts {
			number(c, &e.Count)
		}
		number(c, &e.Attempt)
		c.byte(&e.Losses)
		c.byte(&e.Retries)
		c.outcome(&e.Outcome)
		text(c, &e.Reason)
		if e.Kind == Lost {
			text(c, &e.Node)
		}
	case NotLost:
		number(c, &e.First)
		text(c, &e.Node)
	case TaskEnded, TaskReported:
		number(c, &e.First)
		number(c, &e.Attempt)
		c.outcome(&e.Outcome)
		text(c, &e.Reason)
		signed(c, &e.Elapsed)
		signed(c, &e.At)
		if e.Kind == TaskReported {
			text(c, &e.Node)
		}
	case Stopped:
		number(c, &e.First)
		number(c, &e.Attempt)
		text(c, &e.Node)
		signed(c, &e.Elapsed)
		signed(c, &e.Began)
	case Reclassed:
		c.class(&e.Class)
	case Met:
		number(c, &e.First)
		signed(c, &e.At)
	case Cancelled:
		text(c, &e.Reason)
		signed(c, &e.At)
	default:
		c.fail(fmt.Errorf("a record of kind %d is not one about a job", e.Kind))
	}
}

func (c *coder) outcome(v *sched.Outcome) { below(c, v, sched.Yielded+1, "the outcome") }
func (c *coder) class(v *sched.Class)     { below(c, v, sched.NumClasses, "the class") }

// appendEvent appends a record to a bundle, which is a value of any number of them.
func appendEvent(b []byte, e *Record) []byte {
	c := coder{out: b}
	c.event(e)
	c.appendFailure(e)
	return c.out
}

// decodeEvents appends the records of a bundle about the job to list.
func decodeEvents(list []Record, job sched.JobID, v []byte) ([]Record, error) {
	c := reader(v)
	own := len(list)
	for c.in != "" {
		if len(list) > own && c.in[0] == byte(failure) {
			c.readFailure(&list[len(list)-1])
			continue
		}
		list = append(list, Record{Job: job})
		c.event(&list[len(list)-1])
	}
	return list, c.end()
}

func (c *coder) ended(e *Ended) {
	c.job(&e.Job)
	text(c, &e.Key)
	signed(c, &e.At)
	s := &e.Status
	text(c, &s.Job)
	text(c, &s.App)
	text(c, &s.State)
	text(c, &s.Class)
	text(c, &s.Reason)
	for _, n := range [...]*int{&s.Tasks, &s.Running, &s.Completed, &s.Failed, &s.Attempts} {
		number(c, n)
	}
	c.float(&s.Submitted)
	c.float(&s.Ended)
	c.float(&s.Seconds)
	c.optionals(
		optional{1, e.Fingerprint == "", func(c *coder) { text(c, &e.Fingerprint) }},
		optional{2, s.Owner == "", func(c *coder) { text(c, &s.Owner) }},
		optional{3, s.Priority == 0, func(c *coder) { n := int64(s.Priority); signed(c, &n); s.Priority = int32(n) }}, //nolint:gosec // 32 bits were written
		optional{4, s.Name == "", func(c *coder) { text(c, &s.Name) }},
		optional{5, len(e.Results) == 0, func(c *coder) { c.bytes(&e.Results) }},
		optional{6, s.Submitter == "", func(c *coder) { text(c, &s.Submitter) }},
		optional{7, len(e.Earlier) == 0, func(c *coder) { c.bytes(&e.Earlier) }},
		optional{8, s.Released == 0, func(c *coder) { c.float(&s.Released) }},
		optional{9, s.Command == "", func(c *coder) { text(c, &s.Command) }},
		optional{12, e.Trace == (api.Trace{}), func(c *coder) { text(c, &e.Trace.Traceparent); text(c, &e.Trace.Tracestate) }},
		optional{13, e.Usage == Usage{}, func(c *coder) { c.usage(&e.Usage) }},
		optional{14, len(e.Times) == 0, func(c *coder) { c.bytes(&e.Times) }},
	)
}

func (c *coder) usage(u *Usage) {
	for _, d := range [...]*time.Duration{&u.Slot, &u.Lost, &u.Wait, &u.LongestWait} {
		signed(c, d)
	}
	number(c, &u.Again)
	c.bits(&u.Started)
}

func encodeEnded(e *Ended) []byte {
	c := writer(nil)
	c.ended(e)
	return c.out
}

func decodeEnded(v []byte) (*Ended, error) {
	c, e := reader(v), new(Ended)
	c.ended(e)
	return e, c.end()
}

// submission codes everything but the payloads of the tasks.
func (c *coder) submission(s *Submission) {
	c.job(&s.Job)
	c.class(&s.Class)
	text(c, &s.Why)
	signed(c, &s.Submitted)
	c.request(&s.Request)
	c.firstAttempt(&s.Attempt)
}

var errFirstAttempt = errors.New("the number of its first attempts is 0")

// firstAttempt codes the number of a job's first attempts as the last field, which is
// left out when it is 0. Journals of before attempts were numbered by lives have none, and
// what the first life of a journal writes is read by programs of that time.
func (c *coder) firstAttempt(v *int32) {
	if c.reading && c.in == "" || !c.reading && *v == 0 {
		return
	}
	if number(c, v); *v == 0 {
		c.fail(errFirstAttempt)
	}
}

func (c *coder) request(q *api.Request) {
	text(c, &q.App)
	text(c, &q.User)
	text(c, &q.Description)
	text(c, &q.Key)
	text(c, &q.Backend)
	text(c, &q.Class)
	text(c, &q.Trace.Traceparent)
	text(c, &q.Trace.Tracestate)
	c.bits(&q.EstimateSet, &q.HT, &q.Restartable)
	signed(c, &q.Estimate)
	c.float(&q.AvgMillis)
	number(c, &q.Retries)
	if n := c.length(len(q.Tasks)); c.reading {
		q.Tasks = make([]api.Task, n)
	}
	for i := range q.Tasks {
		text(c, &q.Tasks[i].ID)
	}
}

func (c *coder) payload(p *api.Payload) {
	text(c, &p.Backend)
	c.bytes(&p.Message)
	signed(c, &p.Sleep)
	var exec byte
	switch {
	case p.Exec != nil && c.shares:
		exec = execLikeLast
	case p.Exec != nil && c.staged:
		exec = execWithFiles
	case p.Exec != nil && p.Exec.Stdin:
		exec = execWithStdin
	case p.Exec != nil && len(p.Exec.Script) > 0:
		exec = execWithScript
	case p.Exec != nil:
		exec = 1
	}
	if c.byte(&exec); exec == 0 {
		return
	}
	if c.reading {
		p.Exec = new(api.Exec)
	}
	if exec >= execWithFiles {
		c.unreadableBefore()
	}
	if exec == execLikeLast {
		c.likeLast(p.Exec)
		return
	}
	c.texts(&p.Exec.Argv)
	c.texts(&p.Exec.Env)
	text(c, &p.Exec.Dir)
	if exec >= execWithScript {
		c.bytes(&p.Exec.Script)
	}
	switch {
	case exec == execWithFiles:
		c.bits(&p.Exec.Stdin)
	case c.reading:
		p.Exec.Stdin = exec == execWithStdin
	}
}

// likeLast codes a process without what it has in common with the last one that was coded so.
func (c *coder) likeLast(e *api.Exec) {
	var argv, env, script bool
	last := c.process
	if last != nil && !c.reading {
		argv, env, script = slices.Equal(e.Argv, last.Argv), slices.Equal(e.Env, last.Env), bytes.Equal(e.Script, last.Script)
	}
	if c.bits(&e.Stdin, &argv, &env, &script); last == nil {
		last = new(api.Exec)
	}
	switch {
	case !argv:
		c.texts(&e.Argv)
	case c.reading:
		e.Argv = last.Argv
	}
	switch {
	case !env:
		c.texts(&e.Env)
	case c.reading:
		e.Env = last.Env
	}
	switch {
	case !script:
		c.bytes(&e.Script)
	case c.reading:
		e.Script = last.Script
	}
	text(c, &e.Dir)
	c.process = e
}

// unreadableBefore codes a number that programs of before staged files take for that of the
// arguments, and refuse as impossible: they would run the process without its files.
func (c *coder) unreadableBefore() {
	n := uint64(math.MaxUint64)
	c.uint(&n)
}

// What marks a process, where 1 is one of which nothing more is to be said, as programs of before
// scripts wrote for every process. The script follows, which may be empty where standard input is
// taken. A process with staged files has all of it.
const (
	execWithScript = 2
	execWithStdin  = 3
	execWithFiles  = 4
	execLikeLast   = 5 // with or without all of it
)
