package telemetry

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/listener"
)

// Places bounds how many requests are answered at a time: in all, of one user, and from one address that is not
// loopback. The zero value has no place.
type Places struct {
	Most, OfUser, OfAddress int

	mu    sync.Mutex
	taken int
	by    map[string]int // places by user and by address; never holds a zero
}

// Take takes a place for a request until leave is called. Without one, full is who has how many already:
// "8 of user alice".
func (s *Places) Take(r *http.Request) (leave func(), full string) {
	user, address := callerOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.taken >= s.Most:
		return nil, fmt.Sprintf("%d in all", s.Most)
	case user != "" && s.by[user] >= s.OfUser:
		return nil, fmt.Sprintf("%d of %s", s.OfUser, user)
	case address != "" && s.by[address] >= s.OfAddress:
		return nil, fmt.Sprintf("%d from %s", s.OfAddress, address)
	}
	s.change(1, user, address)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.change(-1, user, address)
	}, ""
}

func (s *Places) change(n int, keys ...string) {
	if s.by == nil {
		s.by = map[string]int{}
	}
	s.taken += n
	for _, k := range keys {
		if k == "" {
			continue
		}
		if s.by[k] += n; s.by[k] == 0 {
			delete(s.by, k)
		}
	}
}

// callerOf returns the user and the address for which a request counts, each "" for none: on loopback the
// kernel names the user, and the user of this process and root could stop it anyway.
func callerOf(r *http.Request) (user, address string) {
	if p := identity.From(r.Context()); p.Name != "" && (p.Role.IsPerson() || p.Proof == identity.Insecure) {
		user = "user " + p.Name
	}
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && !from.Addr().Unmap().IsLoopback() {
		address = listener.SourceOf(from.Addr())
	}
	return user, address
}
