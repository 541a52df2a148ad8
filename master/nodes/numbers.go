package nodes

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// numberless returns why slots receive no numbers now, nil when they do.
func numberless(h *wire.Hello, a *protocol.Assignment) error {
	switch {
	case a.Wait > 0:
		return &api.Error{
			Problem: api.Busy, What: "this master follows another one and assigns no numbers yet, since workers may claim those that they had",
			Subject: fmt.Sprintf("%s of %s without a number", sched.Count(a.New, "slot", "slots"), h.Sender), Tried: "numbering its workers", Next: "register again", RetryAfter: time.Duration(a.Wait),
		}
	case a.Exhausted:
		return &api.Error{
			Problem: api.Busy, What: fmt.Sprintf("each of the %d numbers is that of a worker, or rests after its worker has left", addrmap.Limit),
			Subject: h.Sender.String(), Tried: "numbering " + sched.Count(a.New, "worker", "workers"), Next: "wait, numbers are free again after half a minute to two minutes; the node tries again by itself", RetryAfter: 5 * time.Second,
		}
	}
	return nil
}

// address returns the address of a new slot, the zero address when it has none yet. number
// is that of its worker plus one, under policies in which all daemons know it; under others
// each registration of a node gives its slots numbers that only this master uses.
func (t *Nodes) address(n *node, slot, number int32) sched.Addr {
	if !t.cfg.Policy.SingleMaster() {
		a := t.numbers.Assign(n.ref.Name, n.life, []protocol.Claim{{Slot: slot}}, t.cfg.Now())
		if a.Numbers != nil {
			number = a.Numbers[0]
		}
	}
	if number < 1 || !t.cfg.Addrs.Set(wire.Ref{Role: sched.Worker, Name: n.ref.Name, Slot: slot}, number-1) {
		return sched.Addr{}
	}
	return sched.Addr{Role: sched.Worker, ID: number - 1}
}
