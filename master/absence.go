package master

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// absence finds the frontends that this master has not reached for so long that they may
// take back their tasks from the group: they say no hello, or this process itself was
// stopped. Frontends wait for master_lost, so this master must notice it earlier.
//
// It belongs to the owner goroutine.
type absence struct {
	after  sched.Time
	hellos map[string]sched.Time // the last of each frontend that is not absent
	batch  sched.Time            // when the owner goroutine began its last batch
}

// newAbsence returns an absence for frontends that wait for the given time.
func newAbsence(masterLost, now sched.Time) absence {
	return absence{after: masterLost / 5 * 4, hellos: map[string]sched.Time{}, batch: now}
}

// hello records that a frontend said hello.
func (a *absence) hello(name string, now sched.Time) { a.hellos[name] = now }

// begin is called with each batch of the owner goroutine, and at least with each sweep. It
// returns the frontends that are absent since now, in the order of their names. If this
// process was stopped these are all frontends.
func (a *absence) begin(now sched.Time) []string {
	stopped := now-a.batch > a.after
	a.batch = now
	var found []string
	for name, at := range a.hellos {
		if stopped || now-at > a.after {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	for _, name := range found {
		delete(a.hellos, name)
	}
	return found
}

// returnUnreached makes the core return the waiting tasks of absent frontends.
func (o *owner) returnUnreached() {
	for _, name := range o.absence.begin(o.core.clock.Now()) {
		o.frontendAway(o.addrs.Addr(frontendRef(name)), awayUnreached)
	}
}
