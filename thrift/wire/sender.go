package wire

import (
	"context"
	"fmt"
	"regexp"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// roleOf returns the role that the certificate of a core's daemon has.
func roleOf(r sched.Role) identity.Role {
	switch r {
	case sched.Distributor:
		return identity.Frontend
	case sched.Master:
		return identity.Master
	case sched.Worker:
		return identity.Node
	}
	return identity.Nobody
}

// speaks returns nil when the caller is the daemon in whose name the arguments of a call are: a
// node cannot speak for another node, nor a frontend for another frontend.
func speaks(ctx context.Context, sender Ref, tried string) error {
	p, role := identity.From(ctx), roleOf(sender.Role)
	if p.Role == identity.Superuser || role != identity.Nobody && p.Is(role, sender.Name) {
		return nil
	}
	return &api.Error{
		Problem: api.Denied, What: fmt.Sprintf("the call is in the name of %s %s, and %s makes it", role, sender.Name, p), Subject: "call between daemons",
		Tried: tried, Next: "give each daemon a certificate of its own, with its role and its name (pigeon pki issue)",
	}
}

// ofProcess is the end of the name that a process of a frontend gives itself to executors'
// nodes: the frontend's name, a dot, and its incarnation.
var ofProcess = regexp.MustCompile(`\.[0-9a-f]{8}$`)

// frontendOf returns the name of the frontend of an order.
func frontendOf(process string) Ref {
	return Ref{Role: sched.Distributor, Name: ofProcess.ReplaceAllString(process, "")}
}
