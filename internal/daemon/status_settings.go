package daemon

import (
	"net"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/audit"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// StatusSettings are how a daemon's pages are reached, and where it writes its audit log.
type StatusSettings struct {
	HTTPHosts []string `mapstructure:"http_hosts" doc:"names without ports by which browsers and programs reach http, in addition to localhost, addresses, the host of http and advertise; a request by another name is refused, since a page of another site could have a browser make it"`
	AuditLog  string   `mapstructure:"audit_log" doc:"file to which is written who asked this daemon for what and whether it was allowed, as lines of JSON; mode 0600, 64 MiB and 5 earlier files of that size; empty: none"`
}

// openAudit opens the audit log of a daemon, which its end closes, and records the names by
// which its pages are reached.
func (l *Lifecycle) openAudit(s Settings, daemon string, m *telemetry.Metrics) error {
	l.hosts = append(l.hosts, s.HTTPHosts...)
	if s.Advertise != "" {
		l.hosts = append(l.hosts, s.Advertise)
	}
	if host, _, err := net.SplitHostPort(s.HTTP); err == nil && host != "" {
		l.hosts = append(l.hosts, host)
	}
	log, err := audit.Open(audit.Options{Path: s.AuditLog, Daemon: daemon, Log: l.log})
	if err != nil {
		return err
	}
	l.audit = log
	l.OnClose(log.Close)
	WatchAudit(log, m)
	return nil
}

// WatchAudit exports how many decisions are in the audit log, and how many are missing.
func WatchAudit(log *audit.Log, m *telemetry.Metrics) {
	m.CounterFuncs("audit_decisions_total", "Decisions about requests that go into the audit log (audit_log): written, or missing because too many came at once or the file could not be written.",
		telemetry.Label{Name: "result", Values: []string{"written", "missing"}}, func(result int) float64 {
			written, missing := log.Stats()
			return float64([]uint64{written, missing}[result])
		})
}

// webSecurity returns who may see which pages of the status server. The handler of a page
// decides what it shows of others' jobs.
func (l *Lifecycle) webSecurity() telemetry.Security {
	s := telemetry.Security{Hosts: l.hosts, Decided: l.decidedPage}
	if l.credentials != nil {
		s.Identifier, s.Allow = l.credentials, access.MaySeePage
	}
	return s
}

// decidedPage is called with each request for a page that was refused.
func (l *Lifecycle) decidedPage(p identity.Principal, from, request string, refusal error) {
	l.audit.Decide(audit.Decision{Principal: p, Remote: from, Action: request, Refusal: refusal, Reads: true})
}

// decidedCall is called with each call, its object, and why it was refused, nil when it was
// not.
func (l *Lifecycle) decidedCall(p identity.Principal, from net.Addr, method, about string, refusal error) {
	if refusal == nil && !changes(method) {
		return
	}
	l.audit.Decide(audit.Decision{Principal: p, Remote: from.String(), Action: method, On: about, Refusal: refusal})
}

// changes reports whether a call of a method is written into the audit log also when it was
// allowed. Daemons' calls to each other are not.
func changes(method string) bool {
	switch method {
	case "submit", "submitJob", "cancelJob", "drainNode", "resumeNode", "forgetNode", "registerApplication", "endApplication", "registerFrontend", "registerBackend":
		return true
	}
	return false
}
