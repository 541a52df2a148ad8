package credentials

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Options of [Open]. Without CA there is no TLS.
type Options struct {
	// Cluster is the name that certificates must have.
	Cluster string
	// CA is the file with the certificates of the authorities that sign those of daemons and
	// people. Cert and Key are the files of this process's own certificate: a daemon has one
	// when there is a CA, a client need not. CRL is a file with the authorities' lists of
	// revoked certificates (PEM), "" for none.
	CA, Cert, Key, CRL string
	// CRLMayBeAbsent is set where nothing is revoked while there is no CRL. One that was read must
	// stay.
	CRLMayBeAbsent bool
	// Insecure makes every caller a superuser whose certificate does not name another role.
	Insecure bool
	// LocalRole is the role of callers on this machine that the kernel names and that are
	// neither root nor the user of this process; identity.Nobody for none.
	LocalRole identity.Role
	// DaemonUsers are names of users whose processes are taken for daemons of the cluster,
	// where the kernel names them.
	DaemonUsers []string
	// Tokens checks access tokens; nil: none is accepted.
	Tokens Tokens
	// Poll is the time between two looks at the files. Default 5 s.
	Poll time.Duration
	// Changed, if set, is called by [Credentials.Watch] when changed files have been read.
	Changed func()
	// Log is written when files change, cannot be used, or a certificate ends soon. Default:
	// nothing is logged.
	Log *slog.Logger
}

// Tokens knows the access tokens of people.
type Tokens interface {
	// Principal returns the principal that a token proves; the error says why it proves none.
	Principal(token string) (identity.Principal, error)
}

// Revocations may be implemented by [Tokens]: Revoked reports whether the token with that id,
// the Credential of its principal, was revoked after its connection had used it.
type Revocations interface {
	Revoked(id string) bool
}

func (o Options) withDefaults() Options {
	o.Poll = cmp.Or(o.Poll, 5*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
