package ledger

import "github.com/pigeon-sched/pigeon/internal/sched"

// Reclass sets the class that one of the job's tasks showed; it returns false when that
// changes nothing. A job turns short once at most, and only if it was declared long; it
// can turn long after that, or instead. So late and repeated messages do not change it
// back and forth.
func (l *Ledger) Reclass(j *Job, c sched.Class, out *sched.Actions) bool {
	if c == j.Class || (c == sched.Short && j.turns > 0) {
		return false
	}
	j.turn(c)
	r := out.Do(sched.Persist)
	r.Kind, r.Job, r.Class = sched.Reclass, j.ID, c
	return true
}

// AsDeclared reports whether the job has the class that it came with.
func (j *Job) AsDeclared() bool { return j.turns == 0 }

func (j *Job) turn(c sched.Class) {
	if c != j.Class {
		j.Class = c
		j.turns++
	}
}
