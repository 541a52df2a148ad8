package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/frame"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// mostProofs bounds the tokens that prove nothing on one connection, so that no caller tries many.
const mostProofs = 3

// caller is the other end of a connection, as far as it is known.
type caller struct {
	remote    context.Context // of calls, without the principal
	ctx       context.Context // of calls
	principal identity.Principal
	refusal   error  // why the caller's proof is not valid
	full      error  // why the caller may not have this connection, unless it proves to be another
	beyond    int    // connections that the caller has above its bound, this one included
	failed    int    // tokens that proved nothing
	subject   string // of the call that runs, as its handler named it
	denial    error  // of the call that runs, as wire.WithDenial has it
}

// proven reports whether it is known who calls.
func (c *conn) proven() bool {
	return c.server.opts.Security.Identifier == nil || c.caller.principal.Role != identity.Nobody && c.caller.refusal == nil
}

// identify identifies the caller, once for the connection.
func (c *conn) identify(ctx context.Context) {
	ctx = wire.WithDenial(context.WithValue(ctx, subjectKey{}, &c.caller.subject), &c.caller.denial)
	c.caller.remote, c.caller.ctx = ctx, ctx //nolint:fatcontext // one for each connection
	id := c.server.opts.Security.Identifier
	if id == nil {
		c.server.conns.claim(c, "", true)
		return
	}
	p, refusal := c.ask(id)
	c.caller.refusal = refusal
	c.takeFor(p)
}

// ask returns who calls. Where descriptors are left to the daemon's own work, a caller for whom there is none tries
// again: nobody else's call is held up meanwhile.
func (c *conn) ask(id Identifier) (p identity.Principal, err error) {
	leaves := c.server.opts.LeavesDescriptors
	short := leaves && tookOneOfTheLast(c.socket)
	if !short {
		p, err = id.Identify(c.net)
		e, refused := errors.AsType[*api.Error](err)
		short = leaves && refused && e.Problem == api.Busy
	}
	if short {
		err = &api.Error{
			Problem: api.NotReady, What: "this daemon has hardly a file descriptor left", Subject: "connection from " + c.socket.RemoteAddr().String(),
			Tried: "accepting it; nothing was done", Next: "try again in a moment; if this stays, raise the daemon's limit of open files (ulimit -n)", RetryAfter: time.Second,
		}
	}
	return p, err
}

// takeFor makes a principal that of all later calls.
func (c *conn) takeFor(p identity.Principal) {
	c.caller.principal = p
	c.caller.ctx = identity.With(c.caller.remote, p) //nolint:fatcontext // it replaces that of the principal before
	most := c.server.opts.MaxConnsPerCaller
	has := c.server.conns.claim(c, bounded(p), c.proven())
	c.reader.Charge(has.memory)
	c.caller.full = nil
	if c.caller.beyond = has.conns - most; has.conns > most {
		c.caller.full = &api.Error{
			Problem: api.Busy, What: fmt.Sprintf("%s has %d connections, the most of one caller", p, most), Subject: c.server.opts.Name,
			Tried: "accepting one more", Next: "close some, or use fewer at a time", RetryAfter: time.Second,
		}
	}
}

// mayWait reports whether the connection may stay for its first call, whose answer gives the reason
// of a refusal. A few of a caller beyond its bound may; all of them would hold the places of others
// when no call comes.
func (c *conn) mayWait() bool { return c.caller.beyond <= max(1, c.server.opts.MaxConnsPerCaller/16) }

// bounded returns the key under which the connections of a principal are counted, "" for one
// whose connections have no separate bound: daemons, users who could stop this one anyway, and who has
// proven nothing, as which the connection was counted when it was accepted.
func bounded(p identity.Principal) string {
	if p.Role == identity.Superuser || p.Role == identity.Nobody || p.Role.IsDaemon() {
		return ""
	}
	return "person " + p.Name
}

// Authenticate implements wire.Authenticator: the service that every server answers itself.
func (c *conn) Authenticate(_ context.Context, token string) (identity.Principal, error) {
	if token == "" {
		return c.caller.principal, c.caller.full
	}
	p, err := c.server.opts.Security.Identifier.Authenticate(token)
	if err != nil {
		c.caller.failed++
		return identity.Principal{}, err
	}
	c.takeFor(p)
	return p, c.caller.full
}

// proves reports whether a call is the one that proves the caller's identity.
func (c *conn) proves(head frame.Header) bool {
	return c.server.opts.Security.Identifier != nil && string(head.Name) == wire.Authenticate
}

// refusal returns why the caller may not make a call, nil when it may, and whether its connection
// ends with that: the caller will not be identified any more.
func (c *conn) refusal(head frame.Header) (why error, last bool) {
	s := &c.server.opts.Security
	if c.caller.refusal != nil {
		return c.caller.refusal, true
	}
	if c.caller.full != nil && !c.proves(head) {
		return c.caller.full, true
	}
	if s.Identifier == nil {
		return nil, false
	}
	if err := s.Identifier.Valid(c.caller.principal); err != nil {
		return err, true
	}
	if s.Allow != nil && !c.proves(head) {
		why = s.Allow(c.caller.principal, c.server.method(head.Name))
	}
	if why == nil && c.cut {
		why = &api.Error{
			Problem: api.Denied, Subject: c.server.opts.Name, What: fmt.Sprintf("a caller that has not proven who it is sent a message of more than %d bytes", frame.BufferSize-frame.HeaderSize),
			Tried: "reading it", Next: "prove it first: give a token (--token-file)",
		}
	}
	return why, false
}

// decided reports a call to the audit log.
func (c *conn) decided(method []byte, refusal error) {
	if tell := c.server.opts.Security.Decided; tell != nil {
		tell(c.caller.principal, c.net.RemoteAddr(), c.server.method(method), c.caller.subject, refusal)
	}
}

// method returns the name of a method.
func (s *Server) method(name []byte) string {
	if known, ok := s.methods[string(name)]; ok { // without an allocation
		return known
	}
	return string(name)
}

// refuse answers a call with a refusal.
func (c *conn) refuse(ctx context.Context, head frame.Header, refusal error, last bool) (Reason, error) {
	c.server.count.refused.Add(1)
	c.transport.Load(nil)
	if head.Type != thrift.ONEWAY {
		kind, answer, thrown := wire.Refused(string(head.Name), refusal)
		if why, err := c.write(ctx, head, kind, answer); err != nil {
			return why, err
		}
		if c.server.opts.EndAfter(thrown) {
			return Declined, refusal
		}
	}
	switch {
	case last && c.caller.beyond > 0:
		return CallerFull, refusal
	case last:
		return Unproven, refusal
	}
	return Finished, nil
}
