package master

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// frontend is a registered frontend. Owned by the owner goroutine.
type frontend struct {
	id          string
	ref         wire.Ref
	incarnation int64
	address     string
	scheduler   string // where it serves applications
	addr        sched.Addr
	heard       time.Time
	silent      bool // off the roll until its next hello; what is said to it waits
}

// silentAfter is for how many times the time of a lost node a frontend is silent
// before it leaves the roll. Workers drop what they wait for from one that is not
// on it, so it is not done lightly.
const silentAfter = 5

// helloFrontend registers a frontend; its number stays when only its process is
// new, since its journal goes on.
func (o *owner) helloFrontend(h *wire.Hello) wire.HelloReply {
	name := h.Sender.Name
	old := o.frontends[name]
	switch {
	case old != nil && old.incarnation == h.Incarnation && old.address == h.Address:
		old.heard = time.Now()
		o.rollChanged = o.rollChanged || old.silent
		old.silent = false
		return o.welcome("")
	case old != nil && old.incarnation != h.Incarnation && old.address != h.Address && o.alive(old.ref, old.heard):
		return o.welcome(fmt.Sprintf("a frontend named %q at %s is registered in group %d and alive, so the frontend at %s was refused; give one of them another id",
			name, old.address, o.cfg.Group, h.Address))
	}
	f := &frontend{id: name, ref: wire.Ref{Role: sched.Distributor, Name: name}, incarnation: h.Incarnation, address: h.Address, scheduler: h.SchedulerAddress, heard: time.Now()}
	if err := o.meet(f.ref, f.address, f.incarnation); err != nil {
		return o.welcome(err.Error())
	}
	f.addr = o.addrs.Addr(f.ref)
	o.frontends[name] = f
	o.rollChanged = true
	o.log.Info("frontend registered", "frontend", name, "address", h.Address)
	return o.welcome("")
}

// sweepFrontends takes those off the roll that have not been heard of.
func (o *owner) sweepFrontends(now time.Time, away time.Duration) {
	for _, f := range o.frontends {
		f.heard = f.heard.Add(away)
		if !f.silent && now.Sub(f.heard) >= silentAfter*o.cfg.LostAfter {
			f.silent, o.rollChanged = true, true
			o.log.Warn("nothing is heard of a frontend", "frontend", f.id, "address", f.address, "for", now.Sub(f.heard).Round(time.Millisecond))
		}
	}
}
