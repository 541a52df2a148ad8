package wire_test

import (
	"sync"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// names is a directory that numbers cores as they appear.
type names struct {
	mu    sync.Mutex
	refs  []wire.Ref
	addrs map[wire.Ref]sched.Addr
}

func newNames() *names { return &names{addrs: map[wire.Ref]sched.Addr{}} }

func (n *names) Addr(r wire.Ref) sched.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, ok := n.addrs[r]
	if !ok {
		n.refs = append(n.refs, r)
		a = sched.Addr{Role: r.Role, ID: int32(len(n.refs))}
		n.addrs[r] = a
	}
	return a
}

func (n *names) Ref(a sched.Addr) (wire.Ref, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.ID < 1 || int(a.ID) > len(n.refs) || n.refs[a.ID-1].Role != a.Role {
		return wire.Ref{}, false
	}
	return n.refs[a.ID-1], true
}

// at is a clock that stands.
func at(t sched.Time) func() sched.Time { return func() sched.Time { return t } }
