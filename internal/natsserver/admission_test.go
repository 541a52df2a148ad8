package natsserver_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/leadership"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

// testAuthority signs certificates.
type testAuthority struct {
	t    *testing.T
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *testAuthority {
	t.Helper()
	a := &testAuthority{t: t}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the test's authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	der, a.key = a.sign(a.cert, a.cert, nil)
	a.file = write(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

func (a *testAuthority) sign(about, by *x509.Certificate, with *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if with == nil {
		with = key
	}
	der, err := x509.CreateCertificate(rand.Reader, about, by, &key.PublicKey, with)
	if err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

// issue returns the files of a certificate of a name, pigeon://CLUSTER/ROLE/NAME.
func (a *testAuthority) issue(name string) (cert, key string) {
	a.t.Helper()
	uri, err := url.Parse(name)
	if err != nil {
		a.t.Fatal(err)
	}
	der, private := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		URIs: []*url.URL{uri}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, a.cert, a.key)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return write(a.t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		write(a.t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// access returns how a daemon of that name reaches a server.
func (a *testAuthority) access(at, name string) notice.Access {
	cert, key := a.issue(name)
	return notice.Access{URL: strings.ReplaceAll(at, "nats://", "tls://"), CA: a.file, Cert: cert, Key: key}
}

// client connects, and returns the connection and what the server forbids.
func client(t *testing.T, a notice.Access) (*nats.Conn, chan string) {
	t.Helper()
	forbidden := make(chan string, 100)
	nc, err := nats.Connect(a.URL, append(a.NATSOptions(), nats.NoReconnect(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		forbidden <- err.Error()
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, forbidden
}

func secured(t *testing.T, servers int, a *testAuthority) *natsservertest.Cluster {
	t.Helper()
	return natsservertest.Start(t, servers, func(o *natsserver.Options) {
		o.Cluster, o.CA = "c", a.file
		o.Cert, o.Key = a.issue("pigeon://c/nats/n1")
		o.Log = daemontest.Log(t)
	})
}

// A client without a certificate of one of the cluster's daemons is not admitted.
func TestWhoIsRefused(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	c := secured(t, 1, a)
	if nc, err := nats.Connect(c.URL(), nats.NoReconnect()); err == nil {
		nc.Close()
		t.Error("a client without TLS was admitted")
	}
	for name, access := range map[string]notice.Access{
		"no certificate": {URL: c.URL(), CA: a.file}, "another cluster": a.access(c.URL(), "pigeon://other/node/n1"), "a person": a.access(c.URL(), "pigeon://c/admin/ann"),
		"no role": a.access(c.URL(), "pigeon://c/root/n1"), "another authority": other.access(c.URL(), "pigeon://c/node/n1"),
	} {
		access.CA = a.file
		nc, err := nats.Connect(strings.ReplaceAll(access.URL, "nats://", "tls://"), append(access.NATSOptions(), nats.NoReconnect())...)
		if err == nil {
			nc.Close()
			t.Errorf("%s: admitted", name)
		}
	}
}

// A node publishes under its own name, and can do nothing else: it neither acknowledges, nor
// reads what other nodes report, nor asks JetStream.
func TestWhatANodeMayDo(t *testing.T) {
	a := newAuthority(t)
	c := secured(t, 1, a)
	node, forbidden := client(t, a.access(c.URL(), "pigeon://c/node/n1"))
	frontend, none := client(t, a.access(c.URL(), "pigeon://c/frontend/f1"))
	reports, err := frontend.SubscribeSync(notice.ReportSubject("c", "f1", notice.Anyone))
	if err == nil {
		err = frontend.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{
		notice.ReportSubject("c", "f1", "n2"), notice.ReportSubject("c", "f1", ""), notice.AckSubject("c", "n2"), notice.AnnouncementSubject("c"), "$JS.API.INFO",
		notice.ReportSubject("c", "f1", "n1"),
	} {
		if err := node.Publish(subject, []byte(subject)); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		if text := <-forbidden; !strings.Contains(text, "Permissions Violation for Publish") {
			t.Errorf("it was told %s", text)
		}
	}
	m, err := reports.NextMsg(10 * time.Second)
	if err != nil || string(m.Data) != notice.ReportSubject("c", "f1", "n1") {
		t.Errorf("the frontend received %v, %v", m, err)
	}
	for _, subject := range []string{notice.ReportSubject("c", "f1", notice.Anyone), notice.AckSubject("c", "n2"), ">", "_INBOX.>"} {
		if _, err := node.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if text := <-forbidden; !strings.Contains(text, "Permissions Violation for Subscription") {
			t.Errorf("%s: it was told %s", subject, text)
		}
	}
	select {
	case text := <-none:
		t.Errorf("the frontend was forbidden: %s", text)
	default:
	}
}

// Frontends and masters can do with JetStream what they need: the checks at their start, a
// leadership, a bucket, and nothing with the leadership of another.
func TestJetStreamOfDaemons(t *testing.T) {
	a := newAuthority(t)
	c := secured(t, 1, a)
	for name, leads := range map[string]string{"pigeon://c/frontend/f1": "frontend.f1", "pigeon://c/master/0": "master.0"} {
		s, err := jetstore.Open(t.Context(), jetstore.Options{Access: a.access(c.URL(), name), Name: "the test", Cluster: "c", Replicas: 1, Log: daemontest.Log(t)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Cleanup(s.Close)
		store, err := s.Leadership(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		revision, err := store.Put(t.Context(), leads, leadership.Record{Holder: name}, 0)
		if err != nil {
			t.Errorf("%s cannot lead: %v", name, err)
		}
		if r, _, found, err := store.Get(t.Context(), leads); err != nil || !found || r.Holder != name {
			t.Errorf("%s reads %+v, %v", name, r, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := store.Put(ctx, "master.7", leadership.Record{Holder: name}, 0); err == nil {
			t.Errorf("%s leads as another", name)
		}
		cancel()
		if err := store.Delete(t.Context(), leads, revision); err != nil {
			t.Errorf("%s cannot resign: %v", name, err)
		}
	}
}

// On loopback, without any setting, a process of the server's own user is admitted, and others
// where there is a secret only with it.
func TestOnLoopback(t *testing.T) {
	c := natsservertest.Start(t, 1)
	nc, err := nats.Connect(c.URL(), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	secret := "a secret of many bytes"
	file := write(t, "secret", []byte(secret+"\n"))
	closed := natsservertest.Start(t, 3, func(o *natsserver.Options) { o.SecretFile = file })
	if nc, err := nats.Connect(closed.Options[0].Listen, nats.NoReconnect()); !errors.Is(err, nats.ErrAuthorization) {
		if err == nil {
			nc.Close()
		}
		t.Errorf("without the secret: %v", err)
	}
	nc, err = nats.Connect(closed.Options[0].Listen, nats.NoReconnect(), nats.Token(secret))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

// A server that others could reach is not started without TLS, unless the settings say so.
func TestOpenServersAreRefused(t *testing.T) {
	short, readable := write(t, "short", []byte("hush")), filepath.Join(t.TempDir(), "readable")
	if err := os.WriteFile(readable, []byte("a secret of many bytes"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]natsserver.Options{
		"insecure: true":         {Listen: "0.0.0.0:0"},
		"everybody on the way":   {Listen: "127.0.0.1:0", ClusterName: "c", ClusterListen: "0.0.0.0:0"},
		"chmod 600 " + readable:  {Listen: "127.0.0.1:0", SecretFile: readable},
		"give it 16 to 1024":     {Listen: "127.0.0.1:0", SecretFile: short},
		"the secret in " + short: {Listen: "127.0.0.1:0", SecretFile: short},
	} {
		if s, err := natsserver.Start(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			if err == nil {
				_ = s.Close() // the test has failed
			}
		}
	}
	s, err := natsserver.Start(natsserver.Options{Listen: "0.0.0.0:0", Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// With certificates only that of a server makes a process one of the servers: a person's or another daemon's
// does not, nor does one of another cluster.
func TestWhoIsAServer(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	log := &daemontest.Text{}
	for _, users := range []string{"", write(t, "users.conf", []byte("authorization { users = [{user: u, password: p}] }\n"))} {
		o := clustered(a, "pigeon://c/nats/first")
		o.ConfigFile, o.Log = users, slog.New(slog.NewTextHandler(log, nil))
		first, err := natsserver.Start(o)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		several := users != "" // clusters
		for certificate, admitted := range map[string]bool{
			"pigeon://c/nats/n2": true, "pigeon://other/nats/n2": several,
			"pigeon://c/master/0": false, "pigeon://c/frontend/f": false, "pigeon://c/node/n1": false, "pigeon://c/viewer/eve": false, "pigeon://c/admin/ann": false,
		} {
			before := log.String()
			end := a.join(first.ClusterURL(), certificate)
			await.Until(t, certificate+" is admitted or refused", func() bool {
				return first.Peers() == 2 || strings.Contains(log.String()[len(before):], "another server was refused")
			})
			if got := first.Peers() == 2; got != admitted {
				t.Errorf("a server with the certificate of %s was admitted: %v", certificate, got)
			}
			end()
			await.Until(t, "the first server is alone", func() bool { return first.Peers() == 1 })
		}
	}
}

// clustered returns the settings of a server of the cluster c.
func clustered(a *testAuthority, certificate string) natsserver.Options {
	o := natsserver.Default()
	o.Listen, o.Name, o.Cluster, o.ClusterName, o.ClusterListen = "127.0.0.1:0", "first", "c", "c", "127.0.0.1:0"
	o.CA = a.file
	o.Cert, o.Key = a.issue(certificate)
	return o
}

// join starts a server of NATS that does not check its own certificate, and returns what ends it.
func (a *testAuthority) join(route, certificate string) (end func()) {
	a.t.Helper()
	cert, key := a.issue(certificate)
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: cert, KeyFile: key, CaFile: a.file, Verify: true})
	if err != nil {
		a.t.Fatal(err)
	}
	config.RootCAs = config.ClientCAs
	at, err := url.Parse(route)
	if err != nil {
		a.t.Fatal(err)
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "second", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, Routes: []*url.URL{at},
		Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: server.RANDOM_PORT, TLSConfig: config, TLSTimeout: 10},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	go s.Start()
	return func() {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// A server that the others would refuse does not start, and says which certificate it needs.
func TestCertificateOfAnotherDaemon(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	o := clustered(a, "pigeon://c/master/0")
	s, err := natsserver.Start(o)
	if err == nil {
		_ = s.Close() // the test has failed
	}
	for _, want := range []string{o.Cert, `the certificate of master "0" is not that of a server`, "pigeon pki issue --role nats"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A server whose certificate ends soon warns of that.
func TestCertificateOfAServerEnds(t *testing.T) {
	t.Parallel()
	a, log := newAuthority(t), &daemontest.Text{}
	natsservertest.Start(t, 1, func(o *natsserver.Options) {
		o.Cluster, o.CA, o.Log = "c", a.file, slog.New(slog.NewTextHandler(log, nil))
		o.Cert, o.Key = a.issue("pigeon://c/nats/n1") // for an hour
	})
	await.Until(t, "the log warns of the end of the certificate", func() bool {
		return strings.Contains(log.String(), "level=WARN msg=\"the certificate of the server ends soon")
	}, log.String)
}

// A key that other users may read is refused by a server and by its clients.
func TestReadableKeysAreRefused(t *testing.T) {
	key := write(t, "key.pem", nil)
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := natsserver.Start(natsserver.Options{Listen: "127.0.0.1:0", Cert: key, Key: key})
	if err == nil || !strings.Contains(err.Error(), "chmod 600 "+key) {
		t.Errorf("a server starts with it: %v", err)
	}
	for _, a := range []notice.Access{{Cert: key, Key: key}, {Credentials: key}} {
		if _, err := nats.Connect("nats://127.0.0.1:1", append(a.NATSOptions(), nats.RetryOnFailedConnect(true))...); err == nil || !strings.Contains(err.Error(), "chmod 600 "+key) {
			t.Errorf("a client connects with it: %v", err)
		}
	}
}
