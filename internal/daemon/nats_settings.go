package daemon

import (
	"cmp"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/notice"
)

// NATSAccess is how NATS servers admit a daemon. Secrets are in files, and in the URLs.
type NATSAccess struct {
	NATSCredentials string `mapstructure:"nats_credentials" doc:"file with the JWT and seed by which NATS servers admit this daemon (nsc calls it creds); empty: none"`
	NATSCA          string `mapstructure:"nats_ca" doc:"file with the certificates by which those of NATS servers must be signed; empty: ca.crt of tls where the daemon shows tls.crt, else the machine's"`
	NATSCert        string `mapstructure:"nats_cert" doc:"file with the certificate by which NATS servers know this daemon; empty: tls.crt of tls where nats has tls:// without a user and there are no nats_credentials, else none"`
	NATSKey         string `mapstructure:"nats_key" doc:"file with the key of nats_cert"`
}

// Servers returns the NATS servers of the settings. Where nothing else is to prove to them who this daemon
// is, it shows them the certificate that it shows to other daemons.
func (s Settings) Servers() notice.Access {
	tls := s.inFolder()
	a := notice.Access{URL: s.NATS, Credentials: s.NATSCredentials, CA: s.NATSCA, Cert: s.NATSCert, Key: s.NATSKey}
	if strings.Contains(s.NATS, "tls://") && !strings.Contains(s.NATS, "@") && s.NATSCredentials == "" && s.NATSCert == "" && tls.TLSCert != "" {
		a.CA, a.Cert, a.Key = cmp.Or(s.NATSCA, tls.TLSCA), tls.TLSCert, tls.TLSKey
	}
	return a
}
