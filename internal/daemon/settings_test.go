package daemon_test

import (
	"errors"
	"math"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/daemon"
)

// settings are those of a daemon that adds one to the common settings.
type settings struct {
	ID              string `mapstructure:"id" doc:"name"`
	daemon.Settings `mapstructure:",squash"`
}

func (s settings) Validate() error { return daemon.Check(s.Rules("")...) }

// The keys of embedded settings are those of the daemon, without a section.
func TestSettingsAreTheDaemonsOwn(t *testing.T) {
	cfg, origins, err := config.Load(settings{"x", daemon.DefaultSettings()}, config.Source{Environ: []string{"PIGEON_NATS=nats://h:1"}})
	if err != nil || cfg.NATS != "nats://h:1" || cfg.Cluster != "pigeon" {
		t.Errorf("%+v, %v", cfg, err)
	}
	if len(origins) != 27 || origins[0].Key != "id" || origins[1].Key != "cluster" {
		t.Errorf("keys: %+v", origins)
	}
	_, _, err = config.Load(settings{"x", daemon.DefaultSettings()}, config.Source{Environ: []string{"PIGEON_CUTOFF=0s"}})
	if field, ok := errors.AsType[*config.FieldError](err); !ok || field.Key != "cutoff" {
		t.Errorf("a cutoff of nothing: %v", err)
	}
}

func TestRules(t *testing.T) {
	if err := daemon.Check(daemon.DefaultSettings().Rules("")...); err != nil {
		t.Error(err)
	}
	for key, change := range map[string]func(*daemon.Settings){
		"cluster":   func(s *daemon.Settings) { s.Cluster = "a b" },
		"limits":    func(s *daemon.Settings) { s.Limits = "huge" },
		"http":      func(s *daemon.Settings) { s.HTTP = "80" },
		"cutoff":    func(s *daemon.Settings) { s.Cutoff = -1 },
		"reserved":  func(s *daemon.Settings) { s.Reserved = math.NaN() },
		"nats_cert": func(s *daemon.Settings) { s.NATSCert = "cert.pem" },
	} {
		s := daemon.DefaultSettings()
		change(&s)
		field, ok := errors.AsType[*config.FieldError](daemon.Check(s.Rules("")...))
		if !ok || field.Key != key || field.Problem == "" {
			t.Errorf("%s: %+v", key, field)
		}
	}
	if field, ok := errors.AsType[*config.FieldError](daemon.Check(daemon.DefaultSettings().Rules("no such policy")...)); !ok || field.Key != "policy" {
		t.Errorf("policy: %+v", field)
	}
	for address, right := range map[string]bool{
		"127.0.0.1:4317": true, "jaeger:4317": true, "[::1]:4317": true,
		"http://127.0.0.1:4317": false, "jaeger:4317/v1/traces": false, "jaeger": false, "jaeger:": false, "jaeger:otlp": false, "jaeger:0": false, "jaeger:99999": false, "http//jaeger:4317": false,
	} {
		s := daemon.DefaultSettings()
		s.OTLP = address
		field, refused := errors.AsType[*config.FieldError](daemon.Check(s.Rules("")...))
		if refused == right || refused && field.Key != "otlp" {
			t.Errorf("otlp %s: %+v, want it refused: %t", address, field, !right)
		}
	}
	if _, _, err := daemon.DefaultSettings().Configure(20); err != nil {
		t.Error(err)
	}
}

// A daemon shows its own certificate to NATS servers that speak TLS, unless something else is to prove to
// them who it is.
func TestServersKnowADaemonByItsCertificate(t *testing.T) {
	const own, other = "cert.pem", "nats.pem"
	for name, c := range map[string]struct {
		change   func(*daemon.Settings)
		cert, ca string
	}{
		"TLS":                 {func(*daemon.Settings) {}, own, "ca.pem"},
		"a folder":            {func(s *daemon.Settings) { s.TLS, s.TLSCA, s.TLSCert, s.TLSKey = "f", "", "", "" }, "f/tls.crt", "f/ca.crt"},
		"another authority":   {func(s *daemon.Settings) { s.NATSCA = "nats-ca.pem" }, own, "nats-ca.pem"},
		"another certificate": {func(s *daemon.Settings) { s.NATSCert, s.NATSKey = other, "nats.key" }, other, ""},
		"credentials":         {func(s *daemon.Settings) { s.NATSCredentials = "user.creds" }, "", ""},
		"a password":          {func(s *daemon.Settings) { s.NATS = "tls://u:p@n1:4222,tls://u:p@n2:4222" }, "", ""},
		"in clear":            {func(s *daemon.Settings) { s.NATS = "nats://n1:4222" }, "", ""},
		"no certificate":      {func(s *daemon.Settings) { s.TLSCA, s.TLSCert, s.TLSKey = "", "", "" }, "", ""},
	} {
		s := daemon.DefaultSettings()
		s.NATS, s.TLSCA, s.TLSCert, s.TLSKey = "tls://n1:4222,tls://n2:4222", "ca.pem", own, "key.pem"
		c.change(&s)
		if a := s.Servers(); a.Cert != c.cert || a.CA != c.ca || (a.Key == "") != (a.Cert == "") || a.URL != s.NATS || a.Identified() != (a.Cert != "" || a.Credentials != "") {
			t.Errorf("%s: %+v, want the certificate %q and the authority %q", name, a, c.cert, c.ca)
		}
	}
}
