package slots

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// NodeLimits are what a node allows its tasks.
type NodeLimits struct {
	Default api.Limits // of tasks that have none of their own
	Most    api.Limits // that a task may request; 0 for no bound
}

// of returns the limits of a task on the node: its own, else those of the node. Tasks in
// processes of applications have none, because they cannot be limited here.
func (n *NodeLimits) of(a *attempt) (l api.Limits) {
	if len(a.Payloads) == 0 || a.Payloads[0].Backend == api.BackendApp {
		return l
	}
	if own := a.Payloads[0].Limits; own != nil {
		l = *own
	}
	l.Memory = first(l.Memory, n.Default.Memory, n.Most.Memory)
	l.CPUs = first(l.CPUs, n.Default.CPUs, n.Most.CPUs)
	l.Time = first(l.Time, n.Default.Time, n.Most.Time)
	return l
}

// first returns the first value that is not zero.
func first[T int64 | float64 | time.Duration](values ...T) (none T) {
	for _, v := range values {
		if v != 0 {
			return v
		}
	}
	return none
}

// fault returns which limit of a task is above what the node allows, "" when none is.
func (n *NodeLimits) fault(l *api.Limits) string {
	switch {
	case n.Most.Memory > 0 && l.Memory > n.Most.Memory:
		return fmt.Sprintf("it asks for %s of memory, and the node allows a task %s (max_memory)", api.FormatBytes(l.Memory), api.FormatBytes(n.Most.Memory))
	case n.Most.CPUs > 0 && l.CPUs > n.Most.CPUs:
		return fmt.Sprintf("it asks for %v processors, and the node allows a task %v (max_cpus)", l.CPUs, n.Most.CPUs)
	case n.Most.Time > 0 && l.Time > n.Most.Time:
		return fmt.Sprintf("it asks for a time limit of %v, and the node allows a task %v (max_time_limit)", l.Time, n.Most.Time)
	}
	return ""
}

// aboveNode returns the end of a task that requests more than the node allows, nil when it does
// not.
func (r *runner) aboveNode(t *backend.Task) *backend.Result {
	what := r.cfg.Limits.fault(&t.Limits)
	if what == "" {
		return nil
	}
	return &backend.Result{ID: t.ID, Outcome: sched.Failed, Code: api.CodeAboveNodeLimit, Reason: (&api.Error{
		What: what, Subject: t.On(r.cfg.Self.Ref.Name), Tried: "starting it",
		Next: "ask for less, or for a node with a higher bound by the application or group that has one",
	}).Error()}
}

// watchTime arranges the end of an attempt with a time limit when its program has run for that long. The
// time for which it is suspended does not count.
func (s *attempts) watchTime(a *attempt) {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if a.phase != running || a.unbegun {
		return
	}
	id, number := a.id, a.worker.number
	a.timer = time.AfterFunc(max(a.limits.Time-a.programRan(), 0), func() {
		s.cfg.Post(func() { s.endOvertime(number, id) })
	})
}

// reportsBegin returns what the backend calls when the program of an attempt has begun, nil when that does not
// matter.
func (s *attempts) reportsBegin(a *attempt) func() {
	if !a.unbegun {
		return nil
	}
	id, number := a.id, a.worker.number
	return func() { s.cfg.Post(func() { s.begun(number, id) }) }
}

// begun records that the program of an attempt has begun, and begins its time limit. By now the attempt may have
// ended.
func (s *attempts) begun(number int32, id sched.AttemptID) {
	w := s.workers.there(number)
	if w == nil {
		return
	}
	if a := w.attempts.find(id); a != nil && a.unbegun {
		a.unbegun, a.before = false, a.service()
		if a.limits.Time > 0 {
			s.watchTime(a)
		}
	}
}

// endOvertime ends an attempt whose time limit is over. By now it may have been suspended, or have
// ended.
func (s *attempts) endOvertime(number int32, id sched.AttemptID) {
	w := s.workers.there(number)
	if w == nil {
		return
	}
	a := w.attempts.find(id)
	if a == nil || a.phase != running || a.backend == nil || a.killed || a.unbegun || a.programRan() < a.limits.Time {
		return
	}
	a.overtime = true
	telemetry.LogTrace(s.cfg.Log, telemetry.Carrier(a.Trace)).Info("ending an attempt whose time limit is over", "attempt", a.id, "job", a.JobName, "limit", a.limits.Time)
	a.kill()
}

// overtimeReason is the reason of an attempt that was ended at its time limit.
func (s *Workers) overtimeReason(a *attempt, r *backend.Result) string {
	t := a.task()
	what := "it ran for %v, %s, and was ended"
	if t.Payload.Backend == api.BackendExec && r.Started.IsZero() {
		what = "its program did not begin within %v, %s: a file that it needs is held up (a lease, FUSE, NFS)"
	}
	next := "give its job a longer one (--time-limit)"
	whose := "its time limit"
	if own := t.Payload.Limits; own == nil || own.Time == 0 {
		whose = "the time limit of tasks on that node"
		next = "give its job one of its own (--time-limit), as far as the node allows that"
	}
	return (&api.Error{
		What: fmt.Sprintf(what, a.limits.Time, whose), Subject: t.On(s.cfg.Self.Ref.Name), Tried: "running it", Next: next,
	}).Error()
}
