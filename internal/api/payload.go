package api

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// What a request holds besides its strings and messages: of a job and of each task, as the
// frontend that accepted it keeps them, roughly; of each string in a list.
const (
	jobBytes    = 2048
	taskBytes   = 192
	stringBytes = 16
)

// Equal reports whether both payloads are the same work.
func (p *Payload) Equal(o *Payload) bool {
	if p.Backend != o.Backend || p.Sleep != o.Sleep || p.Submitter != o.Submitter || !p.Limits.equal(o.Limits) || !p.Array.equal(o.Array) || !sameFiles(p.Stage, o.Stage) || !bytes.Equal(p.Message, o.Message) {
		return false
	}
	if p.Exec == nil || o.Exec == nil || p.Exec == o.Exec {
		return p.Exec == o.Exec
	}
	return p.Exec.Dir == o.Exec.Dir && slices.Equal(p.Exec.Argv, o.Exec.Argv) && slices.Equal(p.Exec.Env, o.Exec.Env) && bytes.Equal(p.Exec.Script, o.Exec.Script) && p.Exec.Stdin == o.Exec.Stdin
}

// size returns the bytes that the payload refers to.
func (p *Payload) size() int64 {
	n := int64(len(p.Message))
	if e := p.Exec; e != nil {
		n += int64(len(e.Dir)+len(e.Script)) + 4*stringBytes
		for _, list := range [...][]string{e.Argv, e.Env} {
			for _, s := range list {
				n += stringBytes + int64(len(s))
			}
		}
	}
	return n
}

// Share makes equal payloads of the tasks share their memory, and returns roughly how many
// bytes a frontend holds for the request until its job has ended. Payloads must not be
// changed afterwards.
func (r *Request) Share() int64 {
	n := jobBytes + int64(len(r.App)+len(r.User)+len(r.UserGroup)+len(r.Owner)+len(r.Name)+len(r.Description)+3*len(r.Key)+len(r.Trace.Traceparent)+len(r.Trace.Tracestate))
	for _, a := range r.After {
		n += stringBytes + int64(len(a.Job))
	}
	n += StageBytes(r.Stage)
	var known distinctPayloads
	for i := range r.Tasks {
		t := &r.Tasks[i]
		n += taskBytes + int64(len(t.ID))
		switch {
		case t.Payload.Message == nil && t.Payload.Exec == nil:
		case i > 0 && t.Payload.Equal(&r.Tasks[i-1].Payload):
			t.Payload = r.Tasks[i-1].Payload
		default:
			first := known.first(r.Tasks, i)
			if t.Payload = first.Payload; first == t {
				n += t.Payload.size()
			}
		}
	}
	return n
}

// distinctPayloads finds equal payloads among tasks.
type distinctPayloads struct {
	seed maphash.Seed
	at   map[uint64][]int // tasks with distinct payloads, by the hash of the payload
}

// first returns the first task whose payload equals that of task i.
func (d *distinctPayloads) first(tasks []Task, i int) *Task {
	if d.at == nil {
		d.seed, d.at = maphash.MakeSeed(), map[uint64][]int{}
	}
	h := tasks[i].Payload.hash(d.seed)
	for _, k := range d.at[h] {
		if tasks[k].Payload.Equal(&tasks[i].Payload) {
			return &tasks[k]
		}
	}
	d.at[h] = append(d.at[h], i)
	return &tasks[i]
}

func (p *Payload) hash(seed maphash.Seed) uint64 {
	h := maphash.Bytes(seed, p.Message)
	if e := p.Exec; e != nil {
		for _, list := range [...][]string{{e.Dir}, e.Argv, e.Env} {
			for _, s := range list {
				h = h*31 + maphash.String(seed, s)
			}
		}
		h = h*31 + maphash.Bytes(seed, e.Script)
	}
	return h
}
