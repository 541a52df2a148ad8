package daemon_test

import (
	"errors"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/daemon"
)

// TestSecurityRules: certificates come together, and a listener that other machines reach is
// refused unless it identifies its callers, or the settings say that it need not.
func TestSecurityRules(t *testing.T) {
	tls := func(s *daemon.Settings) { s.TLSCA, s.TLSCert, s.TLSKey = "ca.pem", "cert.pem", "key.pem" }
	for name, c := range map[string]struct {
		change func(*daemon.Settings)
		key    string // that is refused; "" for none
	}{
		"loopback":                         {func(*daemon.Settings) {}, ""},
		"IPv6 loopback":                    {func(s *daemon.Settings) { s.HTTP = "[::1]:0" }, ""},
		"localhost":                        {func(s *daemon.Settings) { s.HTTP = "localhost:0" }, ""},
		"switched off":                     {func(s *daemon.Settings) { s.HTTP = "" }, ""},
		"every address":                    {func(s *daemon.Settings) { s.HTTP = "0.0.0.0:80" }, "http"},
		"every address of IPv6":            {func(s *daemon.Settings) { s.HTTP = "[::]:80" }, "http"},
		"every address, unnamed":           {func(s *daemon.Settings) { s.HTTP = ":80" }, "http"},
		"a name":                           {func(s *daemon.Settings) { s.HTTP = "host-1:80" }, "http"},
		"an address of a network":          {func(s *daemon.Settings) { s.HTTP = "10.0.0.1:80" }, "http"},
		"insecure":                         {func(s *daemon.Settings) { s.HTTP, s.Insecure = "10.0.0.1:80", true }, ""},
		"TLS":                              {func(s *daemon.Settings) { tls(s); s.HTTP = "10.0.0.1:80" }, ""},
		"a folder":                         {func(s *daemon.Settings) { s.TLS, s.HTTP = "tls", "10.0.0.1:80" }, ""},
		"a folder and another key":         {func(s *daemon.Settings) { s.TLS, s.TLSKey = "tls", "key.pem" }, ""},
		"a certificate without a key":      {func(s *daemon.Settings) { tls(s); s.TLSKey = "" }, "tls_cert"},
		"a certificate without authority":  {func(s *daemon.Settings) { tls(s); s.TLSCA = "" }, "tls_ca"},
		"an authority without certificate": {func(s *daemon.Settings) { s.TLSCA = "ca.pem" }, "tls_ca"},
		"a list of revoked ones alone":     {func(s *daemon.Settings) { s.TLSCRL = "crl.pem" }, "tls_crl"},
		"no role":                          {func(s *daemon.Settings) { s.LocalRole = "none" }, ""},
		"an empty role":                    {func(s *daemon.Settings) { s.LocalRole = "" }, "local_role"},
		"a daemon's role":                  {func(s *daemon.Settings) { s.LocalRole = "master" }, "local_role"},
		"superuser":                        {func(s *daemon.Settings) { s.LocalRole = "superuser" }, "local_role"},
	} {
		s := daemon.DefaultSettings()
		c.change(&s)
		err := daemon.Check(s.Rules("")...)
		field, _ := errors.AsType[*config.FieldError](err)
		if (err == nil) != (c.key == "") || field != nil && field.Key != c.key {
			t.Errorf("%s: got %v, want a refusal of %q", name, err, c.key)
		}
	}
}
