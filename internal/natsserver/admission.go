package natsserver

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// admit determines which clients are admitted: those with a certificate of the cluster, with the
// permissions of its role and name; else those that have the secret; else, on loopback, processes
// that the kernel names and that could do anything to this server anyway. Users in a
// configuration file of NATS count instead.
func (o Options) admit(s *server.Options) (*admission, error) {
	exposed := !isLoopback(s.Host) && s.TLSConfig == nil || o.ClusterListen != "" && !isLoopback(s.Cluster.Host) && s.Cluster.TLSConfig == nil
	switch {
	case exposed && !o.Insecure:
		return nil, errors.New("it is not on loopback, and everybody on the way could read and change what goes there; set tls_ca, tls_cert and tls_key, or allow it with insecure: true")
	case hasOwnUsers(s) && o.CA != "" && s.Cluster.TLSConfig != nil:
		a, err := o.newAdmission(s)
		if err == nil {
			a.anyCluster = true
		}
		return a, err
	case hasOwnUsers(s):
		return nil, nil
	case o.SecretFile != "":
		return nil, o.bySecret(s)
	case o.CA != "":
		return o.byIdentity(s)
	case s.TLSVerify: // by a configuration file: clients with a certificate of its authorities
		return nil, nil
	case o.Insecure:
		return nil, nil
	case !isLoopback(s.Host):
		return nil, errors.New("it would admit everybody who reaches it; set tls_ca, by which clients are known, or allow it with insecure: true")
	case runtime.GOOS != "linux": // the kernel does not name the caller
		if o.Log != nil {
			o.Log.Warn("every process of this machine is admitted; set secret_file")
		}
		return nil, nil
	}
	return o.byIdentity(s)
}

// hasOwnUsers reports whether a configuration file determines which clients are admitted.
func hasOwnUsers(s *server.Options) bool {
	return s.Username != "" || s.Authorization != "" || len(s.Users) > 0 || len(s.Nkeys) > 0 || len(s.Accounts) > 0 || len(s.TrustedOperators) > 0 || s.AuthCallout != nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Bounds of the secret of a file, bytes: a shorter one could be guessed.
const (
	leastSecret = 16
	maxSecret   = 1024
)

// routeUser is the user under which the servers of a cluster admit each other by the secret.
const routeUser = "pigeon"

// bySecret admits clients, and the other servers of the cluster, that have the secret of a file.
func (o Options) bySecret(s *server.Options) error {
	if err := files.CheckSecret(o.SecretFile, "the secret of the servers"); err != nil {
		return err
	}
	text, err := os.ReadFile(o.SecretFile)
	if err != nil {
		return err
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < leastSecret || len(secret) > maxSecret {
		return fmt.Errorf("the secret in %s has %d bytes; give it %d to %d", o.SecretFile, len(secret), leastSecret, maxSecret)
	}
	s.Authorization = secret
	if o.ClusterListen != "" {
		s.Cluster.Username, s.Cluster.Password = routeUser, secret
		for _, r := range s.Routes {
			if r.User == nil {
				r.User = url.UserPassword(routeUser, secret)
			}
		}
	}
	return nil
}

// newAdmission returns what knows the certificates of the cluster. With certificates it determines which
// processes are servers, whatever determines which clients are admitted.
func (o Options) newAdmission(s *server.Options) (*admission, error) {
	a := &admission{cluster: o.Cluster, log: o.Log, admitted: map[string]identity.Principal{}, servers: map[string]*x509.Certificate{}}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if a.credentials, err = credentials.Open(credentials.Options{Cluster: o.Cluster, CA: o.CA, CRL: o.CRL, CRLMayBeAbsent: o.CRL == filepath.Join(o.TLS, authority.RevokedFile), DaemonUsers: o.DaemonUsers, Log: o.Log, Changed: a.disconnectRevoked}); err != nil {
		return nil, err
	}
	if o.CA == "" || s.Cluster.TLSConfig == nil {
		return a, nil
	}
	s.Cluster.TLSConfig.VerifyConnection = a.verifyRoute
	if o.ClusterListen == "" { // a configuration file has the certificate and the authorities of servers
		return a, nil
	}
	// The others would refuse it: the first server that is started again says so, while they still serve.
	own, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err == nil {
		err = ofServer(own.Leaf)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Cert, err)
	}
	// Connections that this server begins are verified by the authorities of its start: the library takes no others.
	accepted := s.Cluster.TLSConfig.Clone()
	s.Cluster.TLSConfig.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := accepted.Clone()
		now.ClientCAs = a.credentials.Authorities()
		return now, nil
	}
	return a, nil
}

// byIdentity admits clients by their certificates or by the kernel.
func (o Options) byIdentity(s *server.Options) (*admission, error) {
	a, err := o.newAdmission(s)
	if err != nil {
		return nil, err
	}
	s.CustomClientAuthentication = &clients{a}
	if o.ClusterListen != "" && o.CA == "" && s.Cluster.Username == "" {
		s.CustomRouterAuthentication = &routes{a}
	}
	return a, nil
}

// admission determines the principal of a client.
type admission struct {
	cluster     string
	anyCluster  bool // a configuration file names the clients, which may be of several clusters
	credentials *credentials.Credentials
	log         *slog.Logger
	server      atomic.Pointer[server.Server] // nil until it listens
	refused     daemon.SharedLogPace          // of clients and servers

	mu       sync.Mutex
	admitted map[string]identity.Principal // by the SHA-256 of the certificate, until that ends
	servers  map[string]*x509.Certificate  // of other servers, the same
}

// watch reads the authorities again when their files change, until the function that it returns is
// called.
func (a *admission) watch() (end func()) {
	if a == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { a.credentials.Watch(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// principal returns the principal at the other end of a connection to one of the server's
// addresses.
func (a *admission) principal(c server.ClientAuthentication, at func(*server.Server) net.Addr) (identity.Principal, error) {
	if state := c.GetTLSConnectionState(); state != nil {
		return a.credentials.IdentifyTLS(*state)
	}
	remote, s := c.RemoteAddress(), a.server.Load()
	switch {
	case remote != nil && remote.Network() == "pipe": // of this process
		return identity.Self(), nil
	case s == nil || remote == nil:
		return identity.Principal{}, nil
	}
	return a.credentials.Identify(ends{local: at(s), remote: remote})
}

// ends is a connection known only by its addresses.
type ends struct {
	net.Conn
	local, remote net.Addr
}

// LocalAddr returns the address of this end.
func (e ends) LocalAddr() net.Addr { return e.local }

// RemoteAddr returns the address of the other end.
func (e ends) RemoteAddr() net.Addr { return e.remote }

// refuse logs why a client is not admitted, at most once a minute for each: it connects again and again.
func (a *admission) refuse(c server.ClientAuthentication, p identity.Principal, err error) bool {
	if err == nil {
		err = fmt.Errorf("%v may not use this server; it serves the daemons of the cluster %s", p, a.cluster)
	}
	who := p.String()
	if e, ok := errors.AsType[*api.Error](err); ok {
		who = e.Subject // the text has the time
	}
	if omitted, due := a.refused.Due(who); due {
		a.log.Warn("a client was refused", "client", fmt.Sprint(c.RemoteAddress()), "omitted", omitted, "error", err)
	}
	return false
}

// clients admits clients.
type clients struct{ *admission }

// Check implements server.Authentication.
func (a *clients) Check(c server.ClientAuthentication) bool {
	p, err := a.principal(c, func(s *server.Server) net.Addr { return s.Addr() })
	if err != nil {
		return a.refuse(c, p, err)
	}
	if p.Role == identity.Superuser {
		return true
	}
	may, admitted := PermissionsOf(a.cluster, p)
	if !admitted {
		return a.refuse(c, p, nil)
	}
	a.remember(c, p)
	c.RegisterUser(&server.User{
		Username: credentials.URI(a.cluster, p.Role, p.Name).String(), ConnectionDeadline: p.Expires,
		Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: may.Publish}, Subscribe: &server.SubjectPermission{Allow: may.Subscribe}},
	})
	return true
}

// verifyRoute returns why the other end of a connection between servers, whose certificate an authority has
// signed, cannot be one: another server may read and write everything.
func (a *admission) verifyRoute(state tls.ConnectionState) error {
	cert := state.PeerCertificates[0]
	cluster, role, name, err := credentials.Parts(cert)
	switch {
	case a.credentials.Revoked(cert):
		err = fmt.Errorf("the certificate of %s %q was revoked", role, name)
	case err == nil && ofPigeon(role) && cluster != a.cluster && !a.anyCluster:
		err = fmt.Errorf("%s %q is of the cluster %q, and this is %q", role, name, cluster, a.cluster)
	default:
		err = ofServer(cert)
	}
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.servers[hash(cert)] = cert
		return nil
	}
	if omitted, due := a.refused.Due(cluster + "/" + role + "/" + name); due {
		a.log.Warn("another server was refused", "omitted", omitted, "error", err)
	}
	return err
}

// ofPigeon reports whether a certificate with the role is of an authority that issues certificates for
// Pigeon; another authority has no roles, and all that it signs is admitted.
func ofPigeon(role string) bool {
	r := identity.Role(role)
	return r.IsPerson() || r.IsDaemon() || r == authority.NATS
}

// ofServer returns why a certificate is not that of a server of a cluster.
func ofServer(cert *x509.Certificate) error {
	_, role, name, err := credentials.Parts(cert)
	if err != nil || !ofPigeon(role) || identity.Role(role) == authority.NATS {
		return nil //nolint:nilerr // of an authority that does not issue certificates for Pigeon
	}
	return fmt.Errorf("the certificate of %s %q is not that of a server; issue one: pigeon pki issue --role nats", role, name)
}

// remember keeps which certificate a client was admitted by.
func (a *admission) remember(c server.ClientAuthentication, p identity.Principal) {
	state := c.GetTLSConnectionState()
	if state == nil || len(state.PeerCertificates) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.admitted[hash(state.PeerCertificates[0])] = p
	now := time.Now()
	maps.DeleteFunc(a.admitted, func(_ string, p identity.Principal) bool { return p.Expires.Before(now) }) // the server ends their connections
}

// hash returns the SHA-256 of a certificate, as the server states it.
func hash(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

// warnOfRevokedServers names the servers that were connected before their certificates were revoked. The
// library ends no connection to a server by itself but when one of the two stops.
func (a *admission) warnOfRevokedServers() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for sum, cert := range a.servers {
		switch {
		case a.credentials.Revoked(cert):
			_, role, name, _ := credentials.Parts(cert)
			a.log.Warn("the certificate of another server was revoked, and connections to it that are open stay; restart this server to end them", "role", role, "name", name)
			delete(a.servers, sum)
		case cert.NotAfter.Before(time.Now()):
			delete(a.servers, sum)
		}
	}
}

// disconnectRevoked ends the connections of clients whose certificates have been revoked since they were
// admitted.
func (a *admission) disconnectRevoked() {
	s := a.server.Load()
	if s == nil {
		return
	}
	a.warnOfRevokedServers()
	open, err := s.Connz(&server.ConnzOptions{Username: true, Limit: math.MaxInt32})
	if err != nil {
		a.log.Warn("the connections of revoked certificates are not ended", "error", err)
		return
	}
	for _, c := range open.Conns {
		if len(c.TLSPeerCerts) == 0 {
			continue
		}
		a.mu.Lock()
		p := a.admitted[c.TLSPeerCerts[0].CertSha256]
		a.mu.Unlock()
		if err := a.credentials.Valid(p); err != nil {
			a.log.Warn("a client was refused", "client", fmt.Sprintf("%s:%d", c.IP, c.Port), "error", err)
			_ = s.DisconnectClientByID(c.Cid) // it may have gone
		}
	}
}

// routes admits other servers of the cluster on loopback. With TLS [admission.verifyRoute] does.
type routes struct{ *admission }

// Check implements server.Authentication.
func (a *routes) Check(c server.ClientAuthentication) bool {
	p, err := a.principal(c, func(s *server.Server) net.Addr { return s.ClusterAddr() })
	if err != nil || p.Role != identity.Superuser {
		return a.refuse(c, p, err)
	}
	return true
}

// askForCertificates asks clients for a certificate, which Check verifies: it knows why it
// refuses one, and reads the authorities again when their file has changed.
func askForCertificates(config *tls.Config) *tls.Config {
	config = config.Clone()
	config.ClientAuth, config.MinVersion = tls.RequireAnyClientCert, tls.VersionTLS13
	return config
}
