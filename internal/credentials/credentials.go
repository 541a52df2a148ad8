package credentials

import (
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/peercred"
	"github.com/pigeon-sched/pigeon/thrift/client"
)

// Credentials are those of one process. They are safe for concurrent use. The methods of a nil
// *Credentials behave as those of one without files: it knows no caller and proves nothing.
type Credentials struct {
	opts       Options
	users      *users
	now        func() time.Time
	state      atomic.Pointer[state] // the content of the files; never nil
	generation atomic.Uint64         // how many times the files were read
	failed     atomic.Uint64         // times that they could not be used
}

// Open reads the files. The error is an *api.Error that names the file.
func Open(o Options) (*Credentials, error) {
	o = o.withDefaults()
	c := &Credentials{opts: o, users: newUsers(o.DaemonUsers), now: time.Now}
	s, err := c.load()
	if err != nil {
		return nil, err
	}
	c.state.Store(s)
	c.generation.Store(1)
	return c, nil
}

// Server returns the settings of listeners, nil if this process has no certificate. Clients are
// asked for their certificate, and [Credentials.Identify] checks it, so that a refusal can say
// what is wrong with it.
func (c *Credentials) Server() *tls.Config {
	if c == nil || c.opts.Cert == "" {
		return nil
	}
	config := base()
	config.ClientAuth = tls.RequestClientCert
	// A resumed session would skip no check made here, and its ticket reaches clients
	// as bytes that they did not ask for, which they take for a closed connection.
	config.SessionTicketsDisabled = true
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.state.Load().own, nil }
	return config
}

// Client returns the settings of connections to a daemon of that role, and of that name unless
// it is ""; nil without a CA. The certificate of the daemon is verified, not its host's name.
func (c *Credentials) Client(role identity.Role, name string) *tls.Config {
	if c == nil || c.opts.CA == "" {
		return nil
	}
	config := base()
	config.InsecureSkipVerify = true //nolint:gosec // VerifyConnection verifies the chain, the role and the name in place of the host's name
	config.VerifyConnection = func(s tls.ConnectionState) error { return c.verifyDaemon(s.PeerCertificates, role, name) }
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if own := c.state.Load().own; own != nil {
			return own, nil
		}
		return &tls.Certificate{}, nil // none is sent
	}
	return config
}

// base returns what both ends have in common.
func base() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, DynamicRecordSizingDisabled: true}
}

// To returns how a pool calls a daemon of that role, and of that name unless it is "".
func (c *Credentials) To(role identity.Role, name string) client.Security {
	if c == nil {
		return client.Security{}
	}
	return client.Security{TLS: c.Client(role, name), Generation: c.generation.Load}
}

// Identify returns the principal at the other end of a connection, after the TLS handshake if
// there is one: by its certificate, else by what the kernel knows. A caller about whom nothing
// is known is no error; the error says why the caller's proof is not valid.
func (c *Credentials) Identify(conn net.Conn) (identity.Principal, error) {
	if c == nil {
		return identity.Principal{}, nil
	}
	if t, ok := conn.(*tls.Conn); ok {
		if certs := t.ConnectionState().PeerCertificates; len(certs) > 0 {
			return c.ofCertificate(certs)
		}
	}
	p, err := c.ofKernel(conn)
	if c.opts.Insecure {
		return identity.Principal{Name: p.Name, Role: identity.Superuser, Proof: identity.Insecure}, nil
	}
	return p, err
}

// ofKernel returns the user of the process at the other end, where the kernel knows it.
func (c *Credentials) ofKernel(conn net.Conn) (identity.Principal, error) {
	uid, err := peercred.UID(conn)
	switch {
	case errors.Is(err, peercred.ErrUnknown):
		return identity.Principal{}, nil
	case errors.Is(err, peercred.ErrShort):
		return identity.Principal{}, short(conn)
	case err != nil:
		return identity.Principal{}, &api.Error{
			Problem: api.Denied, Subject: "connection from " + conn.RemoteAddr().String(), Tried: "asking the kernel whose process calls",
			What: err.Error(), Next: "connect again",
		}
	}
	p, known := c.users.principal(uid, c.opts.LocalRole)
	if !known {
		return identity.Principal{}, short(conn)
	}
	return p, nil
}

// short is the refusal of a caller whom this process cannot identify now, for want of descriptors. It passes.
func short(conn net.Conn) error {
	return &api.Error{
		Problem: api.Busy, Subject: "connection from " + conn.RemoteAddr().String(), Tried: "finding out whose process calls; nothing was done",
		What: "this daemon has no file descriptor left", Next: "try again in a moment; if this stays, raise the daemon's limit of open files (ulimit -n)", RetryAfter: 100 * time.Millisecond,
	}
}

// Authenticate returns the principal that an access token proves.
func (c *Credentials) Authenticate(token string) (identity.Principal, error) {
	if c == nil || c.opts.Tokens == nil {
		return identity.Principal{}, &api.Error{
			Problem: api.Denied, What: "this daemon knows no access tokens", Tried: "proving who calls by a token",
			Next: "set tokens_file at the daemon, or call it with a certificate",
		}
	}
	p, err := c.opts.Tokens.Principal(token)
	if err != nil {
		return identity.Principal{}, err
	}
	if err := c.Valid(p); err != nil {
		return identity.Principal{}, err
	}
	return p, nil
}

// Valid returns why a principal that was identified earlier is no longer one: its certificate
// or token has ended or was revoked meanwhile.
func (c *Credentials) Valid(p identity.Principal) error {
	if !p.Expires.IsZero() && c.time().After(p.Expires) {
		return ended(p)
	}
	if c == nil || p.Credential == "" {
		return nil
	}
	switch p.Proof {
	case identity.Certificate:
		if c.state.Load().revoked[p.Credential] {
			return revoked(p)
		}
	case identity.Token:
		if r, ok := c.opts.Tokens.(Revocations); ok && r.Revoked(p.Credential) {
			return revoked(p)
		}
	}
	return nil
}

func (c *Credentials) time() time.Time {
	if c == nil {
		return time.Now()
	}
	return c.now()
}

// Self returns the principal that this process's own certificate names; false without one.
func (c *Credentials) Self() (identity.Principal, bool) {
	if c == nil {
		return identity.Principal{}, false
	}
	s := c.state.Load()
	return s.self, s.own != nil
}

// Insecure reports whether every caller may do everything.
func (c *Credentials) Insecure() bool { return c != nil && c.opts.Insecure }

func ended(p identity.Principal) error {
	return &api.Error{
		Problem: api.Denied, Subject: p.String(), What: "the " + string(p.Proof) + " ended at " + p.Expires.UTC().Format(time.RFC3339), Tried: "checking who calls",
		Next: "renew it and connect again",
	}
}

func revoked(p identity.Principal) error {
	return &api.Error{
		Problem: api.Denied, Subject: p.String(), What: "the " + string(p.Proof) + " " + p.Credential + " was revoked", Tried: "checking who calls",
		Next: "have another one issued",
	}
}
