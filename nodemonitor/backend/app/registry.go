package app

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// process is one registered backend. The registry's lock guards it; watch runs
// from its registration until ctx ends.
type process struct {
	address string
	app     string
	kind    Kind
	slot    Slot // of a classic one
	order   uint64
	running map[*run]struct{}
	contact contact
	ctx     context.Context
	end     context.CancelFunc
}

// Registry has the backend processes of a node and runs tasks in them. It is the
// [backend.Backend] of the tasks of applications. Make one with [New].
type Registry struct {
	cfg       Config
	callbacks callbackQueue
	work      sync.WaitGroup // launches and watches
	ctx       context.Context
	stop      context.CancelFunc

	mu       sync.Mutex
	known    map[string]*process // by address
	bySlot   map[int32]*process
	table    *table
	nextSlot int32
	order    uint64
	stats    Stats
	logged   time.Time         // last warning about reports
	aliases  map[string]string // other addresses of registered ones, as reports name them
	closed   bool
}

// New returns an empty registry. Close ends it.
func New(cfg Config) *Registry {
	cfg.fill()
	ctx, stop := context.WithCancel(context.Background())
	return &Registry{
		cfg: cfg, ctx: ctx, stop: stop, nextSlot: cfg.FirstSlot,
		known: make(map[string]*process), bySlot: make(map[int32]*process), table: newTable(), aliases: map[string]string{},
	}
}

// Register adds a backend process of the application that serves BackendService at the
// address, host:port. When it returns, the events that it causes have been queued in
// order, and nearly always been delivered.
func (r *Registry) Register(app, address string, kind Kind) error {
	defer r.callbacks.flush()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.check(app, address, kind); err != nil {
		return err
	}
	if old := r.known[address]; old != nil {
		r.stats.Again++
		if old.app == app && old.kind == kind {
			r.void(old, "its backend at "+address+" registered again, so the process that ran it is gone")
			r.resume(old)
			old.contact = contact{}
			return nil
		}
		r.drop(old, "another backend registered at "+address)
	}
	r.admit(app, address, kind)
	return nil
}

func (r *Registry) check(app, address string, kind Kind) error {
	bad := func(p api.Problem, what, next string) error {
		return &api.Error{Problem: p, What: what, Subject: fmt.Sprintf("backend %q of application %q", address, api.Clip(app, api.MaxKeyBytes)), Tried: fmt.Sprintf("registering it at node %q", r.cfg.Node), Next: next}
	}
	switch what, next := api.AppFault(app); {
	case r.closed:
		return bad(api.NotReady, backendStopping, "register again when it is back")
	case what != "":
		return bad(api.Invalid, "its application's name "+what, next)
	case address == "":
		return bad(api.Invalid, "it gives no socket to reach it at", "give listenSocket as host:port")
	case kind < General || kind > Resident:
		return bad(api.Invalid, fmt.Sprintf("its type is %d", kind), "use 0 (general), 1 (reserved) or 2 (resident)")
	case r.known[address] != nil && api.AppScope(app) != "" && api.AppScope(app) != api.AppScope(r.known[address].app):
		return bad(api.Denied, "a backend of another user is registered at this address", "register the address that the backend itself listens on")
	case r.known[address] == nil && len(r.known) >= r.cfg.MaxBackends:
		return bad(api.Busy, fmt.Sprintf("the node has %d backends, its limit (max_backends)", max(0, r.cfg.MaxBackends)), "raise the limit, or stop other backends")
	}
	if user, most := api.AppScope(app), max(1, r.cfg.MaxBackends/userPart); user != "" && r.known[address] == nil && r.backendsOf(user) >= most {
		return bad(api.Busy, fmt.Sprintf("the node has %d backends of %s, its limit for one user (half of max_backends)", most, user), "raise the limit, or stop other backends")
	}
	return nil
}

// userPart is the part of MaxBackends that one user may have, so that others find a place.
const userPart = 2

// backendsOf returns how many backends a user has here. It needs the lock.
func (r *Registry) backendsOf(user string) (n int) {
	for _, p := range r.known {
		if api.AppScope(p.app) == user {
			n++
		}
	}
	return n
}

const backendStopping = "the node monitor is stopping"

// admit adds a backend. It needs the lock.
func (r *Registry) admit(app, address string, kind Kind) {
	r.order++
	p := &process{address: address, app: app, kind: kind, order: r.order, running: make(map[*run]struct{})}
	p.ctx, p.end = context.WithCancel(r.ctx)
	r.known[address] = p
	r.stats.Registered++
	r.offer(p)
	r.work.Go(func() { r.watch(p) })
}

// offer offers the slots of a backend. It needs the lock.
func (r *Registry) offer(p *process) {
	if p.kind == Resident {
		r.queueServes()
		return
	}
	s := Slot{Number: r.nextSlot, App: p.app, Reserved: p.kind == Reserved, Address: p.address}
	r.nextSlot++
	p.slot, r.bySlot[s.Number] = s, p
	r.callbacks.put(func() { r.cfg.Events.SlotAdded(s) })
}

// withdraw undoes offer. It needs the lock.
func (r *Registry) withdraw(p *process, reason string) {
	if p.kind == Resident {
		r.queueServes()
		return
	}
	s := p.slot
	delete(r.bySlot, s.Number)
	r.callbacks.put(func() { r.cfg.Events.SlotGone(s, reason) })
}

// drop removes a backend. It needs the lock.
func (r *Registry) drop(p *process, reason string) {
	p.end()
	delete(r.known, p.address)
	r.stats.Gone++
	r.void(p, reason)
	if !p.contact.resting {
		r.withdraw(p, reason)
	}
}

// queueServes queues the event ServesChanged. It needs the lock.
func (r *Registry) queueServes() {
	apps := r.serves()
	r.callbacks.put(func() { r.cfg.Events.ServesChanged(apps) })
}

// serves returns the applications with a resident backend, sorted. It needs the lock.
func (r *Registry) serves() []string {
	apps := []string{}
	for _, p := range r.known {
		if p.kind == Resident && !p.contact.resting {
			apps = append(apps, p.app)
		}
	}
	slices.Sort(apps)
	return slices.Compact(apps)
}

// Serves returns the applications with a resident backend here, sorted.
func (r *Registry) Serves() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serves()
}

// Stats returns the counts so far.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Close ends every task as Killed and forgets every backend, whose slots are gone
// with the node monitor. It returns when no callback will come any more, and
// must not be called from one.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	r.stop()
	r.killAll()
	clear(r.known)
	clear(r.bySlot)
	r.mu.Unlock()
	r.work.Wait()
	r.callbacks.drain()
}
