package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// Defects that runs with faults have found in cores and that are not mended yet. Each is
// kept out of the runs, as narrowly as can be, unless [Faults.Defects] is set. Whoever
// mends one removes its lines here.

// DefaultKinds returns the kinds of faults under which the policy loses nothing.
//
// A kairos master counts the launches that each node has received. When it takes a node
// for lost that lives, or follows another master, launches that were on their way make
// the node count differently: it takes the next launch for a repetition, or refuses it
// with a number that the master takes for an old one, and the task is never run again.
func DefaultKinds(p *sched.Policy) Kinds {
	if p.Central && p.Suspending {
		return AllKinds &^ (CrashMaster | Suspect)
	}
	return AllKinds
}

// A pigeon master that follows another one notes, for a second, which results nodes keep,
// and launches none of these tasks again. It does not forget that when the node is lost
// within the second; a frontend that is down at that moment does not hear of the loss, and
// the task is never run again. So no node is lost at such a master for two seconds.
func (w *world) recoveryDefect(m *daemon) bool {
	return !w.manual && !w.faults.Defects && m.life > 1 && w.now < m.started+2*sched.Second
}

// Under hawk and eagle a master may keep the payload of a job for ever:
//   - of a task that was bound late, when the node that runs it registers: the core takes
//     no notice of it, and does not forget it;
//   - of tasks that come again when they have ended: the core ignores them, and does not
//     forget the job;
//   - of a launch that is made again after a restart: a worker takes what equals the last
//     attempt that ran there for a repetition, and drops it, and the master counts a task
//     at the worker that never ends.
func (w *world) payloadDefect() bool {
	return !w.faults.Defects && w.cfg.Policy.Central && w.cfg.Policy.LateBinding
}
