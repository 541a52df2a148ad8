package executors

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var _ wire.ExecutorKeeper = (*Keeper)(nil)

// OrderExecutors carries out what a frontend wants of an application here.
func (k *Keeper) OrderExecutors(_ context.Context, o *wire.Order) (wire.OrderReply, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.check(o); err != nil {
		return wire.OrderReply{}, err
	}
	a := k.apps[o.Application.ID]
	switch {
	case a == nil && o.Over:
		return wire.OrderReply{Accepted: true, Tenure: o.Tenure, Frontend: o.Frontend, Incarnation: o.Application.Incarnation}, nil
	case a == nil:
		a = k.admit(o)
	case a.over || a.Incarnation != o.Application.Incarnation || o.Tenure < a.tenure || o.Tenure == a.tenure && o.Frontend != a.frontend:
		return wire.OrderReply{Tenure: a.tenure, Frontend: a.frontend, Incarnation: a.Incarnation}, nil
	}
	if o.Tenure > a.tenure || o.Sequence >= a.sequence {
		k.follow(a, o)
	}
	a.lastContact = time.Now()
	return wire.OrderReply{Accepted: true, Tenure: a.tenure, Frontend: a.frontend, Incarnation: a.Incarnation}, nil
}

// check refuses orders that no frontend of the cluster sends. It needs the lock.
func (k *Keeper) check(o *wire.Order) error {
	bad := func(p api.Problem, what, next string) error {
		return &api.Error{Problem: p, What: what, Subject: fmt.Sprintf("application %q at node %q", o.Application.ID, k.cfg.Node), Tried: "taking an order of frontend " + o.Frontend, Next: next}
	}
	switch {
	case k.closed:
		return bad(api.NotReady, "the node monitor is stopping", "order elsewhere")
	case k.apps[o.Application.ID] == nil && !o.Over && len(k.apps) >= maxApplications:
		return bad(api.Busy, fmt.Sprintf("the node holds %d applications, its limit", maxApplications), "order elsewhere, or later")
	case len(o.Executors) > api.MaxExecutors || slices.ContainsFunc(o.Executors, func(id string) bool { return !api.IsApplicationID(id) }):
		return bad(api.Invalid, fmt.Sprintf("it names %d executors, the limit is %d, or one that can have no folder", len(o.Executors), api.MaxExecutors), "run the same version of pigeon on all hosts")
	}
	return nil
}

// admit adds an application. It needs the lock.
func (k *Keeper) admit(o *wire.Order) *application {
	a := &application{
		Application: o.Application, executors: map[string]*executor{}, known: map[string]bool{},
		folder: k.cfg.Folder + "/" + o.Application.ID,
	}
	k.apps[a.ID] = a
	k.cfg.Logger.Info("an application may have executors here", "application", a.ID, "name", a.Name, "frontend", o.Frontend)
	return a
}

// follow carries out an order. It needs the lock.
func (k *Keeper) follow(a *application, o *wire.Order) {
	if a.tenure != 0 && a.frontend != o.Frontend {
		k.cfg.Logger.Info("another frontend has taken an application over", "application", a.ID, "frontend", o.Frontend, "before", a.frontend)
	}
	a.frontend, a.address, a.tenure, a.sequence = o.Frontend, o.Address, o.Tenure, o.Sequence
	defer k.changed()
	if o.Over {
		k.end(a, "the application is over")
		return
	}
	for _, x := range a.executors {
		if !slices.Contains(o.Executors, x.id) {
			k.stopExecutor(x, "the application or its frontend has no use for it any more")
		}
	}
	for _, id := range o.Executors {
		if n, err := strconv.Atoi(id); err == nil {
			a.last = max(a.last, n)
		}
		if !a.known[id] {
			k.begin(a, id)
		}
	}
}

// begin starts an executor, or refuses it. It needs the lock.
func (k *Keeper) begin(a *application, id string) {
	a.known[id] = true
	x := &executor{
		app: a, id: id, token: rand.Text(), slots: a.Template.Slots, folder: a.folder + "/" + id, began: time.Now(),
		state: api.ExecutorState{ID: id, Node: k.cfg.Node, Host: k.cfg.Host, State: api.ExecutorStarting},
	}
	if x.slots == 0 {
		x.slots = k.cfg.Slots
	}
	if k.cfg.Web != "" {
		base := fmt.Sprintf("%s/applications/%s/%s/", k.cfg.Web, a.ID, id)
		x.state.Stdout, x.state.Stderr = base+"stdout", base+"stderr"
	}
	if err := k.checkRoom(a, x); err != nil {
		k.keepEnd(x, end{reason: err.Error(), refused: true, noRoom: true})
		return
	}
	a.executors[id] = x
	k.living++
	ctx, cancel := context.WithCancel(k.ctx)
	x.cancel = cancel
	k.work.Go(func() { k.start(ctx, x) })
}

// checkRoom returns why the node cannot run the executor beside those it has, nil when
// it can. It needs the lock.
func (k *Keeper) checkRoom(a *application, x *executor) error {
	var memory, slots int64
	for _, b := range k.apps {
		memory += b.memory()
		slots += b.slots()
	}
	bad := func(what, next string) error {
		return &api.Error{Problem: api.Busy, What: what, Subject: fmt.Sprintf("executor %s of application %q", x.id, a.ID), Tried: fmt.Sprintf("finding room for it on node %q", k.cfg.Node), Next: next}
	}
	switch {
	case memory+a.Template.Memory > k.cfg.Memory:
		return bad(fmt.Sprintf("it needs %d MB, and the node has %d MB for executors (memory), of which %d MB are taken%s", a.Template.Memory, k.cfg.Memory, memory, k.holders((*application).memory, "MB")),
			"give executors less memory, wait for other applications to end, or raise the node's memory")
	case !a.Grants && slots+int64(x.slots) > int64(k.cfg.Slots):
		return bad(fmt.Sprintf("it holds %d slots for as long as it lives, and the node has %d, of which %d are held so%s", x.slots, k.cfg.Slots, slots, k.holders((*application).slots, "slots")),
			"give executors fewer slots, wait for other applications to end, or let it take grants")
	}
	return nil
}

// memory returns what the executors of the application take, in MB.
func (a *application) memory() int64 { return int64(len(a.executors)) * a.Template.Memory }

// slots returns how many slots its executors hold for as long as they live.
func (a *application) slots() (n int64) {
	if a.Grants {
		return 0
	}
	for _, x := range a.executors {
		n += int64(x.slots)
	}
	return n
}

// holders returns the applications that hold something, the most first; "" when none
// does. It needs the lock.
func (k *Keeper) holders(of func(*application) int64, unit string) string {
	var list []api.Share
	for _, a := range k.apps { // Shares puts them in order
		list = append(list, api.Share{Who: a.ID, Amount: of(a)})
	}
	return api.Shares(list, unit)
}
