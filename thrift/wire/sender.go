package wire

import (
	"context"
	"regexp"

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
	return notTheSender(role, sender.Name, p, tried)
}

// ofProcess is the end of the name that a process of a frontend gives itself to executors'
// nodes: the frontend's name, a dot, and its incarnation.
var ofProcess = regexp.MustCompile(`\.[0-9a-f]{8}$`)

// frontendOf returns the name of the frontend of an order.
func frontendOf(process string) Ref {
	return Ref{Role: sched.Distributor, Name: ofProcess.ReplaceAllString(process, "")}
}
