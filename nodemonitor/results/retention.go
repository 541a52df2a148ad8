package results

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// silentAfter is the time without an answer after which a frontend counts as silent.
const silentAfter = 10 * sched.Second

// Heard records that a frontend has answered or sent something that is not about results.
func (r *Reporter) Heard(a sched.Addr) {
	if f := r.frontend(a); f != nil {
		f.heardAt = r.cfg.Now()
	}
}

// isSilent reports whether a frontend has not answered for some seconds, although results
// are kept for it.
func (r *Reporter) isSilent(f *frontend) bool {
	return f.kept() > 0 && r.cfg.Now()-f.heardAt >= silentAfter
}

// maySave reports whether one more result may be kept for a frontend. Attempts that end
// unstarted, because their frontend has no room and is silent, leave small results; these
// are bounded, too.
func (r *Reporter) maySave(f *frontend) bool {
	if f.kept() < 2*r.store.limit {
		return true
	}
	r.cfg.Metrics.overflow.Inc()
	return false
}

// forgetAbsent forgets all results of a frontend that was not reached for too long. If it
// comes back, it misses their tasks and tries them again.
func (r *Reporter) forgetAbsent(f *frontend) {
	silence := r.cfg.Now() - f.heardAt
	if f.kept() == 0 || r.cfg.Forget <= 0 || silence < r.cfg.Forget {
		return
	}
	forgotten := 0
	for _, l := range [...]*list{&f.fresh, &f.sent} {
		for l.n > 0 {
			r.store.drop(r.store.table[l.first].ID)
			forgotten++
		}
	}
	f.forgotten += uint64(forgotten) //nolint:gosec // not below zero
	r.cfg.Metrics.forgotten.Add(float64(forgotten))
	r.cfg.Log.Error("a frontend was not reached for too long: its results and the tasks that wait here for it are forgotten; if it comes back it tries them again",
		"frontend", f.ref.Name, "address", f.address, "results", forgotten, "silent", time.Duration(silence), "setting", "frontend_forget")
	r.cfg.Forgotten(f.addr)
}
