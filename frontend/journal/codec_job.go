package journal

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// How the tasks of a submission name their payloads.
const (
	payloadFirst  = iota // all tasks share the one payload
	payloadOwn           // task i has payload i
	payloadListed        // an index for each task follows
)

const (
	flagEstimate = 1 << iota
	flagHT
	flagRestartable
)

// encodeSubmission writes the submission in two sections: words and task ids
// first, payloads after them, each distinct payload once. The sections are
// decoded into memory of their own, so that keeping a task's id does not keep
// the payloads.
func encodeSubmission(s *Submission) []byte {
	r := &s.Request
	text := putJobID(nil, s.Job)
	text = append(text, byte(s.Class))
	text = putInt(putString(text, s.Why), s.Submitted)
	for _, w := range [...]string{r.App, r.User, r.Description, r.Key, string(r.Backend), r.Class, r.Trace.Traceparent, r.Trace.Tracestate} {
		text = putString(text, w)
	}
	var flags byte
	if r.EstimateSet {
		flags |= flagEstimate
	}
	if r.HT {
		flags |= flagHT
	}
	if r.Restartable {
		flags |= flagRestartable
	}
	text = putFloat(putInt(append(text, flags), int64(r.Estimate)), r.AvgMillis)
	text = putUint(putUint(text, uint64(r.Retries)), uint64(len(r.Tasks)))
	for i := range r.Tasks {
		text = putString(text, r.Tasks[i].ID)
	}
	return encodePayloads(putString([]byte{codecVersion}, text), r.Tasks)
}

func encodePayloads(b []byte, tasks []api.Task) []byte {
	var (
		table  []byte
		last   []byte // the payload of the task before, encoded
		item   []byte
		seen   map[string]uint64 // made when a second payload turns up
		n, at  uint64
		index  = make([]uint64, len(tasks))
		listed = payloadFirst
	)
	for i := range tasks {
		item = encodePayload(item[:0], &tasks[i].Payload)
		if i == 0 || string(item) != string(last) {
			if seen == nil {
				seen = make(map[string]uint64)
			}
			known, ok := seen[string(item)]
			if at = known; !ok {
				at, n = n, n+1
				seen[string(item)] = at
				table = append(table, item...)
			}
			last = append(last[:0], item...)
		}
		index[i] = at
	}
	switch {
	case n > 1 && n == uint64(len(tasks)):
		listed = payloadOwn
	case n > 1:
		listed = payloadListed
	}
	b = append(putUint(b, n), table...)
	b = append(b, byte(listed))
	if listed == payloadListed {
		for _, at := range index {
			b = putUint(b, at)
		}
	}
	return b
}

func encodePayload(b []byte, p *api.Payload) []byte {
	b = putInt(putString(putString(b, string(p.Backend)), p.Message), int64(p.Sleep))
	if p.Exec == nil {
		return append(b, 0)
	}
	return putString(putStrings(putStrings(append(b, 1), p.Exec.Argv), p.Exec.Env), p.Exec.Dir)
}

func decodeSubmission(v []byte) (*Submission, error) {
	head := reader{s: string(v[:min(len(v), 16)])}
	head.version()
	before := len(head.s)
	n := head.uint()
	at := 1 + uint64(before-len(head.s))
	if head.err != nil || n > uint64(len(v))-at {
		head.fail(errShort)
		return nil, head.err
	}
	text := reader{s: string(v[at : at+n])}
	s := &Submission{Job: text.jobID(), Class: sched.Class(text.byte()), Why: text.string(), Submitted: text.int()}
	if s.Class >= sched.NumClasses {
		text.fail(errClass)
	}
	decodeRequest(&text, &s.Request)
	if err := text.end(); err != nil {
		return nil, err
	}
	rest := reader{s: string(v[at+n:])}
	decodePayloads(&rest, s.Request.Tasks)
	return s, rest.end()
}

func decodeRequest(r *reader, q *api.Request) {
	q.App, q.User, q.Description, q.Key = r.string(), r.string(), r.string(), r.string()
	q.Backend, q.Class = api.Backend(r.string()), r.string()
	q.Trace = api.Trace{Traceparent: r.string(), Tracestate: r.string()}
	flags := r.byte()
	q.EstimateSet, q.HT, q.Restartable = flags&flagEstimate != 0, flags&flagHT != 0, flags&flagRestartable != 0
	q.Estimate, q.AvgMillis, q.Retries = time.Duration(r.int()), r.float(), int(r.int32())
	q.Tasks = make([]api.Task, r.count())
	for i := range q.Tasks {
		q.Tasks[i].ID = r.string()
	}
}

func decodePayloads(r *reader, tasks []api.Task) {
	n := r.count()
	if n > len(tasks) || (n == 0) != (len(tasks) == 0) {
		r.fail(errPayloads)
		return
	}
	table := make([]api.Payload, n)
	for i := range table {
		decodePayload(r, &table[i])
	}
	listed := r.byte()
	if listed > payloadListed || listed == payloadOwn && n != len(tasks) {
		r.fail(errPayloads)
		return
	}
	for i := range tasks {
		at := uint64(0)
		switch listed {
		case payloadOwn:
			at = uint64(i)
		case payloadListed:
			at = r.uint()
		}
		if at >= uint64(n) {
			r.fail(errPayloads)
			return
		}
		tasks[i].Payload = table[at]
	}
}

func decodePayload(r *reader, p *api.Payload) {
	p.Backend = api.Backend(r.string())
	if m := r.string(); m != "" {
		p.Message = []byte(m)
	}
	p.Sleep = time.Duration(r.int())
	if r.byte() != 0 {
		p.Exec = &api.Exec{Argv: r.strings(), Env: r.strings(), Dir: r.string()}
	}
}
