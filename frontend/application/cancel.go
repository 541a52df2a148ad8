package application

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Cancelled applications are remembered, so that their processes get that as an
// error instead of registering again.
const (
	cancelledFor = time.Hour
	maxCancelled = 1000
)

// cancelled is an application that was ended by someone else than its process.
type cancelled struct {
	id          string
	incarnation int64
	why         string
	at          time.Time
}

// cancel ends an application; its process gets the reason at its next call.
func (reg *registry) cancel(id, why string, now time.Time) (View, bool) {
	a := reg.apps[id]
	if a == nil || a.ended != "" {
		return View{}, false
	}
	v := a.view(now)
	reg.cancelled = slices.DeleteFunc(reg.cancelled, func(c cancelled) bool { return c.id == id || now.Sub(c.at) > cancelledFor })
	if n := len(reg.cancelled) - maxCancelled + 1; n > 0 {
		reg.cancelled = slices.Delete(reg.cancelled, 0, n) // the oldest come first
	}
	reg.cancelled = append(reg.cancelled, cancelled{id, a.Incarnation, why, now})
	reg.end(a, why)
	return v, true
}

// cancelledError returns the error for a process whose application was cancelled,
// nil for others. A new process with the same id is another application.
func (reg *registry) cancelledError(id string, incarnation int64) error {
	for _, c := range reg.cancelled {
		if c.id == id && c.incarnation == incarnation {
			return &api.Error{Problem: api.Invalid, What: "it was stopped: " + c.why, Subject: subject(id), Tried: "serving it at frontend " + reg.frontend,
				Next: "start it again if that was an error"}
		}
	}
	return nil
}

// Cancel ends an application: its executors are stopped, its waiting grants are
// withdrawn, and its process gets the reason. It returns the last view of it; false
// when it is not registered here.
func (s *Service) Cancel(id, why string) (v View, found bool) {
	s.update(func(reg *registry, now time.Time) { v, found = reg.cancel(id, why, now) })
	if found {
		s.cfg.Logger.Info("an application was cancelled", "application", id, "reason", why, "executors", len(v.Executors))
	}
	return v, found
}
