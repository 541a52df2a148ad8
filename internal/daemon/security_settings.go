package daemon

import (
	"cmp"
	"net"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// NoLocalRole is the value of the setting local_role for no role.
const NoLocalRole = "none"

// SecuritySettings are how a daemon proves its identity and identifies its callers.
type SecuritySettings struct {
	TLS         string   `mapstructure:"tls" common:"yes" doc:"folder with ca.crt (certificates of the authorities that sign those of the cluster's daemons and people), tls.crt (this daemon's, which names cluster, role and name: URI pigeon://CLUSTER/ROLE/NAME, or subject O, OU, CN) and tls.key, as 'pigeon pki issue' and Kubernetes name them, and, where there is one, ca.crl (what the authorities have revoked); read again when they change. With it all daemons call each other by TLS 1.3; empty: no TLS"`
	TLSCA       string   `mapstructure:"tls_ca" doc:"file in place of ca.crt of tls"`
	TLSCert     string   `mapstructure:"tls_cert" doc:"file in place of tls.crt of tls"`
	TLSKey      string   `mapstructure:"tls_key" doc:"file in place of tls.key of tls"`
	TLSCRL      string   `mapstructure:"tls_crl" doc:"file in place of ca.crl of tls, which must be there then"`
	TokensFile  string   `mapstructure:"tokens_file" common:"yes" doc:"file with the hashes of people's access tokens, which 'pigeon token' writes; read again when it changes; empty: no token is accepted"`
	Insecure    bool     `mapstructure:"insecure" doc:"every caller may do everything, also of listeners that other machines reach; for closed networks and tests"`
	LocalRole   string   `mapstructure:"local_role" doc:"role of this machine's users who call on loopback and are neither the daemon's own user nor root: viewer, user, operator, admin, or none"`
	DaemonUsers []string `mapstructure:"daemon_users" doc:"users of this machine whose processes are taken for daemons of the cluster when they call on loopback, as those of the daemon's own user are"`
}

// DefaultSecuritySettings returns the settings of a daemon on one machine.
func DefaultSecuritySettings() SecuritySettings {
	return SecuritySettings{LocalRole: string(identity.User)}
}

// inFolder returns the settings with the files of the folder tls where no other is named.
func (s SecuritySettings) inFolder() SecuritySettings {
	if s.TLS != "" {
		s.TLSCA = cmp.Or(s.TLSCA, filepath.Join(s.TLS, authority.TrustFile))
		s.TLSCert, s.TLSKey = cmp.Or(s.TLSCert, filepath.Join(s.TLS, authority.CertFile)), cmp.Or(s.TLSKey, filepath.Join(s.TLS, authority.KeyFile))
		s.TLSCRL = cmp.Or(s.TLSCRL, filepath.Join(s.TLS, authority.RevokedFile))
	}
	return s
}

// Rules returns the rules of the settings.
func (s SecuritySettings) Rules() []Rule {
	s = s.inFolder()
	return []Rule{
		Refuse("tls_cert", (s.TLSCert == "") != (s.TLSKey == ""), "give tls_cert and tls_key, or neither"),
		Refuse("tls_ca", (s.TLSCA == "") != (s.TLSCert == ""), "set tls to a folder with all three, or give tls_ca, tls_cert and tls_key, or none of them: a daemon that calls by TLS is called by TLS"),
		Refuse("tls_crl", s.TLSCRL != "" && s.TLSCA == "", "leave it out, or give tls_ca: only certificates can be on the list"),
		Refuse("local_role", s.LocalRole != NoLocalRole && !identity.Role(s.LocalRole).IsPerson(), "use viewer, user, operator, admin or none"),
	}
}

// Closed returns the rule that no other machine reaches a listener that does not identify its
// callers. An invalid address is refused by its own rule.
func (s SecuritySettings) Closed(key, address string) Rule {
	return Refuse(key, s.open(address), "use a loopback address (127.0.0.1), or set tls: other machines reach this one, and nobody would be asked who calls; insecure: true allows it, and everything to everybody")
}

// open reports whether a listener would serve other machines without identifying its callers.
func (s SecuritySettings) open(address string) bool {
	return address != "" && s.inFolder().TLSCert == "" && !s.Insecure && !IsLoopback(address)
}

// IsLoopback reports whether no other machine can reach a listener of that address. One that
// is no host:port counts as such.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// credentials returns the options of the daemon's credentials, without a log.
func (s Settings) credentials() credentials.Options {
	role := identity.Role(s.LocalRole)
	if s.LocalRole == NoLocalRole {
		role = identity.Nobody
	}
	f := s.inFolder()
	return credentials.Options{
		Cluster: s.Cluster, CA: f.TLSCA, Cert: f.TLSCert, Key: f.TLSKey, CRL: f.TLSCRL, CRLMayBeAbsent: s.TLSCRL == "",
		Insecure: s.Insecure, LocalRole: role, DaemonUsers: s.DaemonUsers,
	}
}
