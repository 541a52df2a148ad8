package daemon

import (
	"context"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/internal/tokens"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Secure reads the daemon's certificates, which are read again when they change until the
// daemon's end; its listeners and calls from then on are secured by them. The error names
// the file that cannot be used, or says that the certificate is another daemon's.
func (l *Lifecycle) Secure(s Settings, m *telemetry.Metrics, self wire.Ref) error {
	o := s.credentials()
	o.Log = l.log
	if s.TokensFile != "" {
		t, err := tokens.Open(s.TokensFile, l.log)
		if err != nil {
			return err
		}
		o.Tokens = t
		l.runUntilClose(t.Run)
	}
	c, err := credentials.Open(o)
	if err != nil {
		return err
	}
	if p, ok := c.Self(); ok && !p.Is(RoleOf(self.Role), self.Name) {
		return &config.FieldError{Key: "tls_cert", Problem: fmt.Sprintf("it is the certificate of %s %q, and this is %s %q; nobody would take this daemon for what it is", p.Role, p.Name, RoleOf(self.Role), self.Name)}
	}
	l.credentials = c
	WatchCredentials(c, m)
	WatchServers(l.serverStats, m)
	if s.Insecure {
		l.log.Warn("INSECURE: every caller may do everything, run programs as this daemon's user among them; set tls, and leave out insecure", "listeners", "all")
	}
	if err := l.openAudit(s, fmt.Sprintf("%s %s", RoleOf(self.Role), self.Name), m); err != nil {
		return err
	}
	l.runUntilClose(c.Watch)
	return nil
}

// runUntilClose runs what reads files again, from now until the daemon closes its parts.
func (l *Lifecycle) runUntilClose(watch func(context.Context)) {
	p := start(watch)
	l.OnClose(func() error { p.stop(); return nil })
}

// Credentials returns what Secure opened, nil before; a nil one knows no caller.
func (l *Lifecycle) Credentials() *credentials.Credentials { return l.credentials }

// To returns how the daemon calls another.
func (l *Lifecycle) To(peer wire.Ref) client.Security {
	return l.credentials.To(RoleOf(peer.Role), peer.Name)
}

// RoleOf returns the role that the certificate of a daemon has, by the role of its core.
func RoleOf(r sched.Role) identity.Role {
	switch r {
	case sched.Distributor:
		return identity.Frontend
	case sched.Master:
		return identity.Master
	default:
		return identity.Node
	}
}

// WatchCredentials exports how the daemon is secured.
func WatchCredentials(c *credentials.Credentials, m *telemetry.Metrics) {
	m.GaugeIf("insecure", "1 where every caller may do everything (insecure: true), else 0.", c.Insecure)
	m.GaugeFunc("certificate_days_left", "Days until this daemon's certificate, or one of the authorities that sign it, ends; below zero when it has; 0 without TLS.", c.DaysLeft)
	m.CounterFunc("certificate_reload_failures_total", "Times that the changed files of certificates could not be used; it grows until they can be, and what was read before stays.", func() float64 { return float64(c.Failed()) })
}
