package application

import (
	"slices"
	"time"
)

// Cancelled applications are remembered, so that their processes receive an error
// instead of registering again.
const (
	cancelledFor = time.Hour
	maxCancelled = 1000
)

// cancelled is an application that was not ended by its own process.
type cancelled struct {
	id          string
	incarnation int64
	why         string
	at          time.Time
}

// cancellations lists the applications that were cancelled, the oldest first.
type cancellations []cancelled

// add appends an application, and removes those that are too old or too many.
func (l *cancellations) add(c cancelled) {
	list := slices.DeleteFunc(*l, func(o cancelled) bool { return o.id == c.id || c.at.Sub(o.at) > cancelledFor })
	if n := len(list) - maxCancelled + 1; n > 0 {
		list = slices.Delete(list, 0, n)
	}
	*l = append(list, c)
}

// find returns the error for a process whose application was cancelled at this
// frontend, nil for others. A new process with the same id is another application.
func (l cancellations) find(id string, incarnation int64, frontend string) error {
	for _, c := range l {
		if c.id == id && c.incarnation == incarnation {
			return wasStopped(id, c.why, frontend)
		}
	}
	return nil
}

// cancel ends an application; its process receives the reason at its next call.
func (reg *registry) cancel(id, why string, now time.Time) (View, bool) {
	a := reg.apps[id]
	if a == nil || a.ended != "" {
		return View{}, false
	}
	v := a.view(now)
	reg.cancelled.add(cancelled{id, a.Incarnation, why, now})
	reg.end(a, why)
	return v, true
}

// Submitter returns the user who registered an application that is served here; false when
// none is.
func (s *Service) Submitter(id string) (submitter string, served bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.registry.apps[id]
	if a == nil || a.ended != "" {
		return "", false
	}
	return a.Submitter, true
}

// countOf returns how many applications of a submitter are served here.
func (reg *registry) countOf(submitter string) (n int) {
	for _, a := range reg.apps {
		if a.Submitter == submitter {
			n++
		}
	}
	return n
}

// Cancel ends an application: its executors are stopped, its waiting grants are
// withdrawn, and its process receives the reason. It returns the last view of the
// application; false when it is not registered here.
func (s *Service) Cancel(id, why string) (v View, found bool) {
	s.update(func(reg *registry, now time.Time) { v, found = reg.cancel(id, why, now) })
	if found {
		s.cfg.Logger.Info("an application was cancelled", "application", id, "reason", why, "executors", len(v.Executors))
	}
	return v, found
}
