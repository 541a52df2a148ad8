package membership

import (
	"sync"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Highest is [protocol.Highest], safe for concurrent use: the owner goroutine observes the
// memberships, and the one that sends hellos reads it.
type Highest struct {
	mu      sync.Mutex
	highest protocol.Highest
}

// Observe records a newer membership.
func (h *Highest) Observe(m *wire.Membership, now sched.Time) {
	highest := int32(0)
	for i := range m.Nodes {
		for _, number := range m.Nodes[i].Numbers {
			highest = max(highest, number)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.highest.Observe(highest, now)
}

// At returns the highest number, plus one, that counts at an instant.
func (h *Highest) At(now sched.Time) int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.highest.At(now)
}
