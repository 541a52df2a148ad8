package wire

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// Ref names a core for as long as its daemon keeps its name: a frontend's id, a
// master's group, or a node's id with a slot.
type Ref struct {
	Role sched.Role
	Name string
	Slot int32 // workers only
}

// String returns the name for logs and errors, in which a core is called by its daemon.
func (r Ref) String() string {
	switch r.Role {
	case sched.Worker:
		return fmt.Sprintf("%s %s/%d", r.Role, r.Name, r.Slot)
	case sched.Distributor:
		return "frontend " + r.Name
	}
	return fmt.Sprintf("%s %s", r.Role, r.Name)
}

// Daemon returns the name without the slot, which names the sender or receiver of
// batches.
func (r Ref) Daemon() Ref { return Ref{Role: r.Role, Name: r.Name} }

// Directory maps the cores of this process and of its peers to numbers. A [Codec] calls it
// from many goroutines.
type Directory interface {
	// Addr returns the number of the core in this process, a new one at the first
	// call for it.
	Addr(Ref) sched.Addr
	// Ref is the inverse; false when the number was never assigned.
	Ref(sched.Addr) (Ref, bool)
}

func refTo(r Ref) *peer.TRef {
	if r == (Ref{}) {
		return nil
	}
	return &peer.TRef{Role: int8(r.Role), Name: r.Name, Slot: r.Slot} // a role is below 4
}

// refFrom reads what checkRef has accepted; anything else is the zero Ref.
func refFrom(t *peer.TRef) Ref {
	if t == nil || checkRef(t) != nil {
		return Ref{}
	}
	return Ref{Role: sched.Role(t.Role), Name: t.Name, Slot: t.Slot}
}

func checkRef(t *peer.TRef) error {
	if t != nil && (t.Role < 0 || t.Role > int8(sched.Worker)) {
		return fmt.Errorf("it names a core of role %d, which does not exist", t.Role)
	}
	return nil
}

// addrTo translates a core named inside a message; the zero address names none.
func (c *Codec) addrTo(a sched.Addr) (*peer.TRef, error) {
	if a == (sched.Addr{}) {
		return nil, nil
	}
	r, ok := c.directory.Ref(a)
	if !ok {
		return nil, fmt.Errorf("it names %v, which this daemon does not know", a)
	}
	return refTo(r), nil
}

func (c *Codec) addrFrom(t *peer.TRef) (sched.Addr, error) {
	if t == nil {
		return sched.Addr{}, nil
	}
	r := refFrom(t)
	if r == (Ref{}) {
		return sched.Addr{}, checkRef(t)
	}
	return c.directory.Addr(r), nil
}
