package queue

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// Demand is what tasks need beside an application. The zero value is that of a unit task, which takes
// one slot.
type Demand struct {
	Slots int32 // of one node, for each task; 0 is one
	Gang  bool  // the tasks of a job start together
}

// App is one application, or the built-in backends under the name "". It exists
// while a worker serves it or a job names it. Tasks with a demand wait apart, in an App of
// their own: no service includes it, so that no worker is given one of them alone.
type App struct {
	Name     string
	Workers  int // live workers that serve it
	refs     int // services that include it, and jobs that name it
	queued   [sched.NumClasses]int
	roots    [sched.NumClasses]*place // nil until a task waits
	services []*Service
	named    bool // an owner has a line for it
	Demand   Demand
	unit     *App   // of an App with a demand: that of the unit tasks
	demands  []*App // the others of the name
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

// Index finds applications and services by name and counts waiting tasks. The zero
// value is not ready; use NewIndex.
type Index struct {
	apps     map[string]*App
	services map[string]*Service
	order    []*App // by name, for walks that end in actions
	tail     int64  // next sequence number at the tail
	head     int64  // next at the head, going down
	queued   [sched.NumClasses]int
	idle     [sched.NumWorkerKinds]int
	tree     *shares.Tree
	begun    int64 // owners that began to wait
	ranked   [sched.NumClasses]map[*Job]*ranked
	orders   Orders
	now      sched.Time             // of the last Renew
	near     [sched.NumClasses]*Run // that PushByAge has queued last
	wide     map[demand]*App        // those with a demand
}

// NewIndex returns an empty index. Owners are served by their shares, and the tasks of one
// owner first in, first out in both classes.
func NewIndex() *Index {
	x := &Index{apps: make(map[string]*App), services: make(map[string]*Service), head: -1}
	x.tree = shares.New(watcher{x})
	return x
}

// Tree returns the owners and their shares.
func (x *Index) Tree() *shares.Tree { return x.tree }

// Find returns the application of that name, nil when no worker serves it and no
// job names it.
func (x *Index) Find(name string) *App { return x.apps[name] }

// Hold returns the application of that name and keeps it until a Release.
func (x *Index) Hold(name string) *App {
	a := x.apps[name]
	if a == nil {
		a = &App{Name: name}
		x.apps[name] = a
		x.order = slices.Insert(x.order, x.position(name), a)
	}
	a.refs++
	return a
}

// Release ends one Hold. Nothing may wait for the application at its last.
func (x *Index) Release(a *App) {
	if a.unit != nil {
		x.releaseDemand(a)
		return
	}
	if a.refs--; a.refs == 0 {
		if a.named {
			x.dropLines(a)
		}
		delete(x.apps, a.Name)
		at := x.position(a.Name)
		x.order = slices.Delete(x.order, at, at+1)
	}
}

// position returns where the application of that name, for unit tasks, is in the order; those with
// a demand follow it.
func (x *Index) position(name string) int {
	at, _ := slices.BinarySearchFunc(x.order, name, func(a *App, name string) int { return strings.Compare(a.Name, name) })
	return at
}

// Join counts a worker that serves these applications. fresh is set when it is the
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
		a.count(1)
		fresh = fresh || a.Workers == 1
	}
	return s, fresh
}

// Leave no longer counts a worker, which must be in no idle list, and calls orphan
// for each application that has no worker left.
func (x *Index) Leave(s *Service, orphan func(*App)) {
	s.workers--
	for _, a := range s.apps {
		a.count(-1)
	}
	for _, a := range s.apps {
		if a.Workers == 0 {
			for _, d := range slices.Clone(a.demands) {
				orphan(d)
			}
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
// of another application than the one of this name, or of another owner.
func (x *Index) OthersWait(app, owner string, c sched.Class) bool {
	a := x.apps[app]
	for k := sched.Class(0); k <= c; k++ {
		if x.queued[k] > 0 && (a == nil || x.queued[k] > a.queued[k] || a.roots[k].hasOthers(owner)) {
			return true
		}
	}
	return false
}

// Idle returns how many workers of the kind are idle.
func (x *Index) Idle(k sched.WorkerKind) int { return x.idle[k] }

// Oldest returns since when the task of the class waits that has waited longest; false when
// none waits. A task that was put to the head hides none that waits behind it. It looks at every application and owner: for reports, not for decisions.
func (x *Index) Oldest(c sched.Class) (since sched.Time, found bool) {
	for _, a := range x.order {
		a.roots[c].each(func(k *lane) {
			if r := k.oldest(); !found || r.Since < since {
				since, found = r.Since, true
			}
		})
	}
	return since, found
}

// each calls f for the lanes below a place in which something waits, in an order on
// which no decision may depend.
func (p *place) each(f func(*lane)) {
	switch {
	case p == nil:
	case p.kids != nil && len(p.kids.slots) > 0:
		for _, s := range p.kids.slots {
			s.place.each(f)
		}
	case p.up == nil:
	case p.more != nil:
		for _, k := range p.more.list {
			f(k)
		}
	default:
		f(&p.lane)
	}
}
