package identity

import (
	"context"
	"slices"
	"time"
)

// Role is what a principal is in the cluster. The table of package access has what each may do.
type Role string

// The roles. A person has one of the first four; a daemon has the role it serves in.
const (
	Nobody   Role = ""         // nothing is proven
	Viewer   Role = "viewer"   // sees names and states of all jobs, and the cluster
	User     Role = "user"     // submits jobs, and does everything with its own
	Operator Role = "operator" // everything with all jobs; drains, shares
	Admin    Role = "admin"    // an operator who also reads tokens, certificates and the audit log
	Frontend Role = "frontend"
	Master   Role = "master"
	Node     Role = "node"
	// Superuser is a process that could do anything to the daemon anyway: on loopback one of the
	// daemon's own user or of root, and every caller of a listener that is insecure.
	Superuser Role = "superuser"
)

// People are the roles that a token can have, from the least to the most.
var People = []Role{Viewer, User, Operator, Admin}

// Daemons are the roles that a certificate of a daemon can have.
var Daemons = []Role{Frontend, Master, Node}

// IsPerson reports whether people have the role.
func (r Role) IsPerson() bool { return slices.Contains(People, r) }

// IsDaemon reports whether daemons have the role.
func (r Role) IsDaemon() bool { return slices.Contains(Daemons, r) }

// Proof is how the identity of the caller was proven.
type Proof string

// The proofs.
const (
	Unproven    Proof = ""
	Kernel      Proof = "kernel"      // the kernel named the user of the other end of the connection
	Token       Proof = "token"       // an access token
	Certificate Proof = "certificate" // a client certificate
	Listener    Proof = "listener"    // nothing, but the listener serves one named owner only
	Insecure    Proof = "insecure"    // nothing, and the listener is insecure by its settings
)

// Principal is the caller. The zero value is a caller about whom nothing is known.
type Principal struct {
	// Name is the user's name, or the name of the daemon: a node's id, a frontend's id, the
	// group of a master.
	Name  string
	Role  Role
	Proof Proof
	// Credential is the id of the token or the serial number of the certificate, for the audit
	// log; "" for other proofs.
	Credential string
	// Expires is when the token or the certificate ends; zero for never.
	Expires time.Time
	// Owner is the owner to which a listener of the published protocols is bound; all jobs of
	// its callers run for this owner. "" elsewhere.
	Owner string
}

// Is reports whether the principal is the daemon of that role and name, or could pose as anyone.
func (p Principal) Is(r Role, name string) bool {
	return p.Role == Superuser || p.Role == r && p.Name == name
}

// String returns "user alice (token)" for messages and logs.
func (p Principal) String() string {
	switch {
	case p.Role == Nobody && p.Name == "":
		return "an unknown caller"
	case p.Role == Nobody:
		return "caller " + p.Name + " without a role"
	case p.Proof == Insecure:
		return "a caller of an insecure listener"
	}
	return string(p.Role) + " " + p.Name + " (" + string(p.Proof) + ")"
}

type key struct{}

// With returns a context that carries the principal of a call.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// From returns the principal of a call; without one the zero Principal.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(key{}).(Principal)
	return p
}

// Self returns the principal of calls that a daemon makes to itself, in its own process.
func Self() Principal { return Principal{Role: Superuser, Proof: Kernel} }
