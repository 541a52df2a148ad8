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
	return p.Exec.Equal(o.Exec)
}

// Equal reports whether both are the same process; nil is the same as nil only.
func (e *Exec) Equal(o *Exec) bool {
	if e == nil || o == nil || e == o {
		return e == o
	}
	return e.Dir == o.Dir && equal(e.Argv, o.Argv) && equal(e.Env, o.Env) && equal(e.Script, o.Script) && e.Stdin == o.Stdin
}

// Size returns the bytes that the process refers to beside those that it shares with another one, which may be nil.
func (e *Exec) Size(o *Exec) int64 {
	n := int64(len(e.Dir)) + 4*stringBytes
	if o == nil || !same(e.Script, o.Script) {
		n += int64(len(e.Script))
	}
	if o == nil || !same(e.Argv, o.Argv) {
		n += sizeOf(e.Argv)
	}
	if o == nil || !same(e.Env, o.Env) {
		n += sizeOf(e.Env)
	}
	return n
}

func sizeOf(list []string) (n int64) {
	for _, s := range list {
		n += stringBytes + int64(len(s))
	}
	return n
}

// ShareWith makes equal parts of both processes share the memory of the other one's.
func (e *Exec) ShareWith(o *Exec) {
	if equal(e.Argv, o.Argv) {
		e.Argv = o.Argv
	}
	if equal(e.Env, o.Env) {
		e.Env = o.Env
	}
	if equal(e.Script, o.Script) {
		e.Script = o.Script
	}
}

// equal is slices.Equal that does not read what is the same memory.
func equal[T comparable](a, b []T) bool { return same(a, b) || slices.Equal(a, b) }

// same reports whether both lists have the same memory, or none.
func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// size returns the bytes that the payload refers to beside those that it shares with a process.
func (p *Payload) size(shared *Exec) int64 {
	n := int64(len(p.Message))
	if p.Exec != nil {
		n += p.Exec.Size(shared)
	}
	return n
}

// Share makes equal payloads of the tasks share their memory, and others what they have in common with the one before; it returns roughly how many
// bytes a frontend holds for the request until its job has ended. Payloads must not be
// changed afterwards.
func (r *Request) Share() int64 {
	n := jobBytes + int64(len(r.App)+len(r.User)+len(r.UserGroup)+len(r.Owner)+len(r.Name)+len(r.Description)+3*len(r.Key)+len(r.Trace.Traceparent)+len(r.Trace.Tracestate))
	for _, a := range r.After {
		n += stringBytes + int64(len(a.Job))
	}
	n += StageBytes(r.Stage)
	var known distinctPayloads
	var last *Exec // that was counted
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
				if t.Payload.Exec != nil && last != nil {
					t.Payload.Exec.ShareWith(last)
				}
				n += t.Payload.size(last)
				last = t.Payload.Exec
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
