package ledger

import "github.com/pigeon-sched/pigeon/internal/sched"

// Reclass returns a job the class that one of its tasks showed; false when that is
// no news. A job turns short once at most, and only if it was long from the start;
// it can turn long after that, or instead. So those who speak late or twice cannot
// have it go to and fro.
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
