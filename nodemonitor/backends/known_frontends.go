package backends

import (
	"context"
	"maps"
	"net"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/lookup"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// knownFrontends are the addresses of frontends that have launched tasks in backends of this process. Only
// to these may the backends of users have messages sent: the node monitor calls them as a daemon, from its
// own host, and would otherwise connect to any port that a user names. It is safe for concurrent use.
type knownFrontends struct {
	lookup lookup.Hosts

	mu      sync.Mutex
	last    map[string]uint64 // by address, the number of its last launch; at most maxMessagePeers
	counter uint64
}

func newKnownFrontends() *knownFrontends {
	return &knownFrontends{lookup: net.DefaultResolver.LookupHost, last: map[string]uint64{}}
}

// launched notes that the frontend at the address launches a task here.
func (k *knownFrontends) launched(address string) {
	address, err := wire.ParseAddress(address) // in the spelling of those that backends name
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counter++
	k.last[address] = k.counter
	if len(k.last) <= maxMessagePeers {
		return
	}
	oldest, number := "", k.counter
	for a, n := range k.last {
		if n <= number {
			oldest, number = a, n
		}
	}
	delete(k.last, oldest)
}

// find returns the address of the frontend that a backend names by it or by another name or address of
// its host, as some clients resolve names; "" when none is known.
func (k *knownFrontends) find(ctx context.Context, address string) string {
	known, candidates := k.withPort(address)
	switch {
	case known:
		return address
	case len(candidates) == 0:
		return ""
	}
	return k.lookup.OnHostOf(ctx, address, candidates)
}

// withPort reports whether an address is known, and returns the known ones with its port otherwise.
func (k *knownFrontends) withPort(address string) (known bool, candidates []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.last[address]; known {
		return true, nil
	}
	return false, lookup.WithPortOf(address, maps.Keys(k.last))
}
