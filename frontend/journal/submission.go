package journal

import (
	"errors"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/classes"
)

var errPayloads = errors.New("its payloads do not fit its tasks")

// How the tasks of a submission refer to their payloads.
const (
	payloadFirst  = iota // all tasks share the one payload
	payloadOwn           // task i has payload i
	payloadListed        // an index for each task follows
)

// encodeSubmission writes a submission in two sections: its head with the task ids, and
// the payloads, each distinct one once. The sections are decoded into
// memory of their own, so that keeping a task's id does not keep the payloads.
func encodeSubmission(s *Submission) []byte {
	head := coder{out: make([]byte, 0, 128+8*len(s.Request.Tasks))}
	head.submission(s)
	c := writer(make([]byte, 0, len(head.out)+64))
	c.bytes(&head.out)
	c.encodePayloads(s.Request.Tasks, len(s.Request.Stage) > 0)
	c.submissionOptionals(s)
	return c.out
}

func decodeSubmission(v []byte) (*Submission, error) {
	start := reader(v[:min(len(v), 16)]) // the version and the length of the head
	length := uint64(0)
	before := len(start.in)
	start.uint(&length)
	at := uint64(1 + before - len(start.in))
	if start.err != nil || length > uint64(len(v))-at {
		start.fail(errShort)
		return nil, start.err
	}
	s := new(Submission)
	head := coder{reading: true, in: string(v[at : at+length])}
	head.submission(s)
	if err := head.end(); err != nil {
		return nil, err
	}
	tail := coder{reading: true, in: string(v[at+length:])}
	tail.decodePayloads(s.Request.Tasks)
	tail.submissionOptionals(s)
	return s, tail.end()
}

// submissionOptionals codes the fields that the first version of a submission did not have.
func (c *coder) submissionOptionals(s *Submission) {
	q := &s.Request
	c.optionals(
		optional{1, q.UserGroup == "", func(c *coder) { text(c, &q.UserGroup) }},
		optional{2, q.Priority == 0, func(c *coder) { n := int64(q.Priority); signed(c, &n); q.Priority = int32(n) }}, //nolint:gosec // 32 bits were written
		optional{3, s.Fingerprint == "", func(c *coder) { text(c, &s.Fingerprint) }},
		optional{4, q.MaxDisconnect == 0, func(c *coder) { signed(c, &q.MaxDisconnect) }},
		optional{5, q.Owner == "", func(c *coder) { text(c, &q.Owner) }},
		optional{6, q.Name == "", func(c *coder) { text(c, &q.Name) }},
		optional{7, s.Origin == 0, func(c *coder) { below(c, &s.Origin, classes.NumOrigins, "from what the class was decided") }},
		optional{8, s.Estimate == 0, func(c *coder) { signed(c, &s.Estimate) }},
		optional{9, !s.Shared, func(c *coder) { c.bits(&s.Shared) }},
		optional{10, q.Limits.Memory == 0, func(c *coder) { signed(c, &q.Limits.Memory) }},
		optional{11, q.Limits.CPUs == 0, func(c *coder) { c.float(&q.Limits.CPUs) }},
		optional{12, q.Limits.Time == 0, func(c *coder) { signed(c, &q.Limits.Time) }},
		optional{13, q.Submitter == "", func(c *coder) { text(c, &q.Submitter) }},
		optional{14, len(q.After) == 0, func(c *coder) { c.after(&q.After) }},
		optional{15, q.Array == api.Array{}, func(c *coder) { signed(c, &q.Array.First); signed(c, &q.Array.Step) }},
		optional{16, q.MaxRunning == 0, func(c *coder) { number(c, &q.MaxRunning) }},
		optional{17, len(q.Stage) == 0, func(c *coder) { c.stage(&q.Stage) }},
		optional{18, !q.NoSuspend, func(c *coder) { c.bits(&q.NoSuspend) }},
		optional{24, q.Array.Indices == "", func(c *coder) { text(c, &q.Array.Indices) }},
		optional{25, !q.Array.Numbers, func(c *coder) { c.bits(&q.Array.Numbers) }},
	)
}

// after codes the jobs after which one starts.
func (c *coder) after(list *[]api.After) {
	if n := c.length(len(*list)); c.reading && n > 0 {
		*list = make([]api.After, n)
	}
	for i := range *list {
		text(c, &(*list)[i].Job)
		c.bits(&(*list)[i].Any)
	}
}

// stage codes the files that are sent with a job.
func (c *coder) stage(list *[]api.StagedFile) {
	if n := c.length(len(*list)); c.reading && n > 0 {
		*list = make([]api.StagedFile, n)
	}
	for i := range *list {
		f := &(*list)[i]
		text(c, &f.Name)
		text(c, &f.SHA256)
		signed(c, &f.Size)
		c.bits(&f.Executable)
	}
}

// sharedFrom is how many bytes the processes of a job have, written whole, from which on each is
// written without what it has in common with the one before. Below, programs of before can read them.
const sharedFrom = 1 << 20

func (c *coder) encodePayloads(tasks []api.Task, staged bool) {
	var (
		item  coder
		seen  map[string]uint64 // their indices; nil while there is one
		list  []*api.Payload    // the distinct ones
		at    uint64
		size  int64 // of the processes, written whole
		index = make([]uint64, len(tasks))
	)
	// The key of a payload that was decoded from a request is short: equal payloads share their process.
	key := func(p *api.Payload) string {
		item.out = item.out[:0]
		item.payload(p)
		return string(item.out)
	}
	for i := range tasks {
		p := &tasks[i].Payload
		if i == 0 || !p.Equal(&tasks[i-1].Payload) {
			if i > 0 && seen == nil {
				seen = map[string]uint64{key(list[0]): 0}
			}
			known, ok := uint64(0), false
			if seen != nil {
				k := key(p)
				if known, ok = seen[k]; !ok {
					seen[k] = uint64(len(list))
				}
			}
			if at = known; !ok {
				at, list = uint64(len(list)), append(list, p)
				if p.Exec != nil {
					size += p.Exec.Size(nil)
				}
			}
		}
		index[i] = at
	}
	n := uint64(len(list))
	c.uint(&n)
	table := coder{staged: staged, shares: size >= sharedFrom}
	for _, p := range list {
		table.payload(p)
	}
	c.out = append(c.out, table.out...)
	form := byte(payloadFirst)
	switch {
	case n > 1 && n == uint64(len(tasks)):
		form = payloadOwn
	case n > 1:
		form = payloadListed
	}
	c.byte(&form)
	if form == payloadListed {
		for i := range index {
			c.uint(&index[i])
		}
	}
}

func (c *coder) decodePayloads(tasks []api.Task) {
	n := c.length(0)
	if n > len(tasks) || (n == 0) != (len(tasks) == 0) {
		c.fail(errPayloads)
		return
	}
	table := make([]api.Payload, n)
	for i := range table {
		c.payload(&table[i])
	}
	var form byte
	c.byte(&form)
	if form > payloadListed || form == payloadOwn && n != len(tasks) {
		c.fail(errPayloads)
		return
	}
	for i := range tasks {
		at := uint64(0)
		switch form {
		case payloadOwn:
			at = uint64(i)
		case payloadListed:
			c.uint(&at)
		}
		if at >= uint64(n) {
			c.fail(errPayloads)
			return
		}
		tasks[i].Payload = table[at]
	}
}
