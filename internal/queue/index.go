package queue

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// App is one application, or the built-in backends under the name "". It exists
// while a worker serves it or a job names it.
type App struct {
	Name     string
	Workers  int // live workers that serve it
	refs     int // services that include it, and jobs that name it
	queued   [sched.NumClasses]int
	runs     [sched.NumClasses]runList
	rankings [sched.NumClasses]*ranking // nil for a class without an order
	services []*Service
}

// Service is a set of applications served by the same workers. It exists while
// there is such a worker.
type Service struct {
	Names   []string // sorted, without repetition
	key     string
	workers int
	apps    []*App // in the order of Names
	idle    [sched.NumWorkerKinds]idleList
}

// Index finds applications and services by name and counts what waits. The zero
// value is not ready; use NewIndex.
type Index struct {
	apps     map[string]*App
	services map[string]*Service
	order    []*App // by name, for walks that end in actions
	tail     int64  // next sequence number at the tail
	head     int64  // next at the head, going down
	queued   [sched.NumClasses]int
	idle     [sched.NumWorkerKinds]int
	orders   Orders
	now      sched.Time // of the last Renew
}

// NewIndex returns an empty index, first in, first out in both classes.
func NewIndex() *Index {
	return &Index{apps: make(map[string]*App), services: make(map[string]*Service), head: -1}
}

// Find returns the application of that name, nil when no worker serves it and no
// job names it.
func (x *Index) Find(name string) *App { return x.apps[name] }

// Hold returns the application of that name and keeps it until a Release.
func (x *Index) Hold(name string) *App {
	a := x.apps[name]
	if a == nil {
		a = &App{Name: name}
		for c, o := range x.orders.By {
			a.rankings[c] = newRanking(o, sched.Class(c)) // below NumClasses
		}
		x.apps[name] = a
		x.order = slices.Insert(x.order, x.position(name), a)
	}
	a.refs++
	return a
}

// Release ends one Hold. Nothing may wait for the application at its last.
func (x *Index) Release(a *App) {
	if a.refs--; a.refs == 0 {
		delete(x.apps, a.Name)
		at := x.position(a.Name)
		x.order = slices.Delete(x.order, at, at+1)
	}
}

func (x *Index) position(name string) int {
	at, _ := slices.BinarySearchFunc(x.order, name, func(a *App, name string) int { return strings.Compare(a.Name, name) })
	return at
}

// Join counts in a worker that serves these applications. fresh is set when it is the
// first for one of them.
func (x *Index) Join(names []string) (s *Service, fresh bool) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	key := serviceKey(names)
	if s = x.services[key]; s == nil {
		s = &Service{Names: names, key: key}
		for _, n := range names {
			a := x.Hold(n)
			s.apps = append(s.apps, a)
			a.services = append(a.services, s)
		}
		x.services[key] = s
	}
	s.workers++
	for _, a := range s.apps {
		a.Workers++
		fresh = fresh || a.Workers == 1
	}
	return s, fresh
}

// Leave counts a worker out, which is in no idle list, and calls orphan for each
// application that has no worker left.
func (x *Index) Leave(s *Service, orphan func(*App)) {
	s.workers--
	for _, a := range s.apps {
		a.Workers--
	}
	for _, a := range s.apps {
		if a.Workers == 0 {
			orphan(a)
		}
	}
	if s.workers > 0 {
		return
	}
	delete(x.services, s.key)
	for _, a := range s.apps {
		a.services = slices.DeleteFunc(a.services, func(o *Service) bool { return o == s })
		x.Release(a)
	}
}

// serviceKey is the same for equal lists of names and for no others, whatever
// bytes are in the names.
func serviceKey(names []string) string {
	var key []byte
	for _, n := range names {
		key = strconv.AppendQuote(key, n)
	}
	return string(key)
}

// Served lists the names of the applications with a live worker, sorted.
func (x *Index) Served() []string {
	names := []string{}
	for _, a := range x.order {
		if a.Workers > 0 {
			names = append(names, a.Name)
		}
	}
	return names
}

// Queued returns how many tasks of the class wait.
func (x *Index) Queued(c sched.Class) int { return x.queued[c] }

// OthersWait reports whether tasks of the class, or of a more urgent one, wait that are
// of another application than the one of this name.
func (x *Index) OthersWait(app string, c sched.Class) bool {
	a := x.apps[app]
	for k := sched.Class(0); k <= c; k++ {
		if x.queued[k] > 0 && (a == nil || x.queued[k] > a.queued[k]) {
			return true
		}
	}
	return false
}

// Idle returns how many workers of the kind are idle.
func (x *Index) Idle(k sched.WorkerKind) int { return x.idle[k] }

// Oldest returns when the first waiting task of the class was queued; false when
// none waits. It looks at every application: for reports, not for decisions.
func (x *Index) Oldest(c sched.Class) (since sched.Time, found bool) {
	for _, a := range x.order {
		if r := a.runs[c].first; r != nil && (!found || r.Since < since) {
			since, found = r.Since, true
		}
	}
	return since, found
}
