package daemon

import "github.com/pigeon-sched/pigeon/internal/notice"

// NATSAccess is how NATS servers admit a daemon. Secrets are in files, and in the URLs.
type NATSAccess struct {
	NATSCredentials string `mapstructure:"nats_credentials" doc:"file with the JWT and seed by which NATS servers admit this daemon (nsc calls it creds); empty: none"`
	NATSCA          string `mapstructure:"nats_ca" doc:"file with the certificates by which those of NATS servers must be signed; empty: the machine's"`
	NATSCert        string `mapstructure:"nats_cert" doc:"file with the certificate by which NATS servers know this daemon; empty: none"`
	NATSKey         string `mapstructure:"nats_key" doc:"file with the key of nats_cert"`
}

// Servers returns the NATS servers of the settings.
func (s Settings) Servers() notice.Access {
	return notice.Access{URL: s.NATS, Credentials: s.NATSCredentials, CA: s.NATSCA, Cert: s.NATSCert, Key: s.NATSKey}
}
