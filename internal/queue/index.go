package queue

import (
	"sort"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Kind is a kind of worker.
type Kind uint8

// The kinds: a general worker takes both classes, a reserved one only short
// tasks.
const (
	General Kind = iota
	Reserved
	NumKinds = 2
)

// App is one application, or the built-in backends under the name "".
type App struct {
	Name     string
	Workers  int // live workers that serve it
	runs     [sched.NumClasses]runList
	services []*Service
}

// Service is a set of applications served by the same workers.
type Service struct {
	Names []string // sorted
	apps  []*App
	idle  [NumKinds]idleList
}

// Apps gives the applications of the set, in the order of their names.
func (s *Service) Apps() []*App { return s.apps }

// Index finds applications and services by name and counts what waits. The zero
// value is not ready; use NewIndex.
type Index struct {
	apps     map[string]*App
	services map[string]*Service
	order    []*App // by name, for walks that end in actions
	tail     int64  // next sequence number at the tail
	head     int64  // next at the head, going down
	queued   [sched.NumClasses]int
	idle     [NumKinds]int
}

// NewIndex gives an empty index.
func NewIndex() *Index {
	return &Index{apps: make(map[string]*App), services: make(map[string]*Service), head: -1}
}

// App gives the application of that name, new when it was unknown.
func (x *Index) App(name string) *App {
	a := x.apps[name]
	if a == nil {
		a = &App{Name: name}
		x.apps[name] = a
		at := sort.Search(len(x.order), func(i int) bool { return x.order[i].Name >= name })
		x.order = append(x.order, nil)
		copy(x.order[at+1:], x.order[at:])
		x.order[at] = a
	}
	return a
}

// Service gives the set of these applications (sorted, without repetition).
func (x *Index) Service(names []string) *Service {
	key := strings.Join(names, "\x00")
	if s := x.services[key]; s != nil && len(s.Names) == len(names) {
		return s
	}
	s := &Service{Names: append([]string(nil), names...)}
	for _, n := range names {
		a := x.App(n)
		s.apps = append(s.apps, a)
		a.services = append(a.services, s)
	}
	x.services[key] = s
	return s
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

// Queued gives how many tasks of the class wait.
func (x *Index) Queued(c sched.Class) int { return x.queued[c] }

// Idle gives how many workers of the kind are idle.
func (x *Index) Idle(k Kind) int { return x.idle[k] }

// Oldest gives when the first waiting task of the class was queued; false when
// none waits. It looks at every application: for reports, not for decisions.
func (x *Index) Oldest(c sched.Class) (since sched.Time, any bool) {
	for _, a := range x.order {
		if r := a.runs[c].first; r != nil && (!any || r.Since < since) {
			since, any = r.Since, true
		}
	}
	return since, any
}
