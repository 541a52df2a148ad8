package application

import (
	"cmp"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Those that were cancelled are remembered, so that their process hears it instead
// of registering again.
const (
	cancelledFor = time.Hour
	maxCancelled = 1000
)

// cancelled is an application that somebody ended who is not the application.
type cancelled struct {
	id          string
	incarnation int64
	why         string
	at          time.Time
}

// cancel ends an application and has its process told so at its next call.
func (b *registry) cancel(id, why string, now time.Time) (View, bool) {
	a := b.apps[id]
	if a == nil || a.ended != "" {
		return View{}, false
	}
	v := a.view(now)
	b.cancelled = slices.DeleteFunc(b.cancelled, func(c cancelled) bool { return c.id == id || now.Sub(c.at) > cancelledFor })
	if n := len(b.cancelled) - maxCancelled + 1; n > 0 {
		b.cancelled = slices.Delete(b.cancelled, 0, n) // the oldest come first
	}
	b.cancelled = append(b.cancelled, cancelled{id, a.Incarnation, why, now})
	b.end(a, why)
	return v, true
}

// cancelledError is the error for a process whose application was cancelled, nil for
// others. A new process with the same id is another application.
func (b *registry) cancelledError(id string, incarnation int64) error {
	for _, c := range b.cancelled {
		if c.id == id && c.incarnation == incarnation {
			return &api.Error{Problem: api.Invalid, What: "it was stopped: " + c.why, Subject: subject(id), Tried: "serving it at frontend " + b.frontend,
				Next: "start it again if that was an error"}
		}
	}
	return nil
}

// Cancel ends an application, for the reason: its executors are stopped, what waits
// of it is taken back, and its process is told why. It gives what it was; false when
// it is not here.
func (s *Service) Cancel(id, why string) (v View, found bool) {
	s.update(func(b *registry, now time.Time) { v, found = b.cancel(id, why, now) })
	if found {
		s.cfg.Logger.Info("an application was cancelled", "application", id, "reason", why, "executors", len(v.Executors))
	}
	return v, found
}

// competitors lists the other applications here that wait for grants, those that want
// most first.
func (b *registry) competitors(id string) (list []competitor) {
	for _, a := range b.apps {
		r := competitor{id: a.ID}
		for _, l := range a.levels {
			r.waits[l.class] += l.wanted()
		}
		if a.ID != id && r.all() > 0 {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y competitor) int { return cmp.Or(cmp.Compare(y.all(), x.all()), cmp.Compare(x.id, y.id)) })
	return list
}

// competitor is an application and the grants that it waits for.
type competitor struct {
	id    string
	waits [sched.NumClasses]int64
}

func (r *competitor) all() (n int64) {
	for _, w := range r.waits {
		n += w
	}
	return n
}
