// Package recovery governs the first second of a central master that follows another one:
// tasks that are sent again wait until the nodes have reported what they hold
// (docs/design.md, section 2, rule 5). Tasks without an attempt reported by a node are
// returned then: only the distributor numbers attempts, and an earlier master may have
// launched them.
//
//	begun ──Tasks, sent again──▶ they wait ──a second later──▶ over: what no node holds
//	                                                           is returned
//
// The package also collects what a master holds for a distributor that was started again.
package recovery

import "github.com/pigeon-sched/pigeon/internal/sched"

// Wait is how long tasks that are sent again wait, so that the nodes of a master that has just
// started can report what runs.
const Wait = sched.Second

// Recovery holds the waiting tasks. The zero value is a recovery that has not begun.
type Recovery struct {
	begun, over bool
	waiting     []sched.Message // Tasks sent again, in order of arrival
	tasks       int             // of waiting
	byJob       map[sched.JobID]int
}

// New returns a new recovery; it is over from the start unless wanted.
func New(wanted bool) Recovery { return Recovery{over: !wanted} }

// Begin requests, at the core's first step, the timeout that ends it.
func (r *Recovery) Begin(now sched.Time, out *sched.Actions) {
	if !r.begun && !r.over {
		r.begun = true
		out.Timer(now+Wait, sched.RecoveryOver)
	}
}

// Over reports whether tasks need not wait any more.
func (r *Recovery) Over() bool { return r.over }

// Add keeps a Tasks message until the end.
func (r *Recovery) Add(m *sched.Message) {
	r.waiting = append(r.waiting, *m)
	r.count(m.Job, int(m.Count))
}

// End ends the recovery and returns the messages that waited; a second call returns none.
func (r *Recovery) End() []sched.Message {
	list := r.waiting
	r.over, r.waiting, r.tasks, r.byJob = true, nil, 0, nil
	return list
}

// Tasks returns the number of waiting tasks.
func (r *Recovery) Tasks() int { return r.tasks }

// Of returns the number of waiting tasks of a job.
func (r *Recovery) Of(id sched.JobID) int { return r.byJob[id] }

// Has reports whether tasks of the job wait.
func (r *Recovery) Has(id sched.JobID) bool { return r.Of(id) > 0 }

// count records that n more tasks of a job wait.
func (r *Recovery) count(id sched.JobID, n int) {
	if r.byJob == nil {
		r.byJob = map[sched.JobID]int{}
	}
	r.tasks += n
	if r.byJob[id] += n; r.byJob[id] == 0 {
		delete(r.byJob, id)
	}
}

// Cut removes tasks of a job.
func (r *Recovery) Cut(id sched.JobID, first, count int32) {
	r.filter(id, func(task int32) bool { return task >= first && task-first < count })
}

func (r *Recovery) filter(id sched.JobID, drop func(task int32) bool) {
	if !r.Has(id) {
		return
	}
	var left []sched.Message
	kept := 0
	for _, m := range r.waiting {
		if m.Job != id {
			left = append(left, m)
			continue
		}
		end := m.First + m.Count
		for i := m.First; i < end; {
			first := i
			for i < end && !drop(i) {
				i++
			}
			if i > first {
				part := m
				part.First, part.Count = first, i-first
				left = append(left, part)
				kept += int(part.Count)
			} else {
				i++
			}
		}
	}
	r.waiting = left
	r.count(id, kept-r.Of(id))
}
