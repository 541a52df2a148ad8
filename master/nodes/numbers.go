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
			Subject: fmt.Sprintf("%d slots of %s without a number", a.New, h.Sender), Tried: "numbering its workers", Next: "register again", RetryAfter: time.Duration(a.Wait),
		}
	case a.Exhausted:
		return &api.Error{
			Problem: api.Busy, What: fmt.Sprintf("too many slots have come and gone: there are %d numbers", addrmap.Limit),
			Subject: h.Sender.String(), Tried: "numbering its workers", Next: "restart the master", RetryAfter: time.Minute,
		}
	}
	return nil
}

// address returns the address of a new slot, the zero address when it has none yet. number
// is that of its worker plus one, under policies that number workers.
func (t *Nodes) address(ref wire.Ref, number int32) sched.Addr {
	switch {
	case !t.cfg.Policy.SingleMaster():
		return t.cfg.Addrs.Renew(ref)
	case number > 0 && t.cfg.Addrs.Set(ref, number-1):
		return sched.Addr{Role: sched.Worker, ID: number - 1}
	default:
		return sched.Addr{}
	}
}
