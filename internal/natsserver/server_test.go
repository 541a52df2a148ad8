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
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate returns the files of a certificate for this machine, which is its own authority.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		write(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// A cluster of three with certificates and users: a client with both is admitted,
// and neither password is logged.
func TestClusterWithTLSAndUsers(t *testing.T) {
	cert, key := certificate(t)
	users := write(t, "users.conf", []byte(`authorization { user: ann, password: hush }`))
	c := natsservertest.Start(t, 3, func(o *natsserver.Options) {
		o.CA, o.Cert, o.Key, o.ConfigFile = cert, cert, key, users
	})
	with := func(user string) notice.Access {
		return notice.Access{URL: strings.ReplaceAll(c.URL(), "nats://", "tls://"+user+"@"), CA: cert, Cert: cert, Key: key}
	}
	open := func(a notice.Access) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := jetstore.Open(ctx, jetstore.Options{Access: a, Name: "the test", Cluster: "c", Replicas: 3, Log: daemontest.Log(t)})
		if err == nil {
			s.Close()
		}
		return err
	}
	if err := open(with("ann:hush")); err != nil {
		t.Error(err)
	}
	err := open(with("ann:loud"))
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Invalid || !strings.Contains(strings.ToLower(err.Error()), "authorization") || strings.Contains(err.Error(), "loud") {
		t.Errorf("a wrong password: %v", err)
	}
	bare := with("ann:hush")
	bare.Cert, bare.Key = "", ""
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if s, err := jetstore.Open(ctx, jetstore.Options{Access: bare, Name: "the test", Cluster: "c", Replicas: 3, Log: daemontest.Log(t)}); err == nil {
		s.Close()
		t.Error("a client without a certificate was admitted")
	}
}

func TestRules(t *testing.T) {
	if err := natsserver.Default().Validate(); err != nil {
		t.Error(err)
	}
	for key, change := range map[string]func(*natsserver.Options){
		"listen":           func(o *natsserver.Options) { o.Listen = "4222" },
		"cluster_listen":   func(o *natsserver.Options) { o.ClusterName = "c" },
		"cluster_name":     func(o *natsserver.Options) { o.ClusterListen = "h:1" },
		"name":             func(o *natsserver.Options) { o.ClusterName, o.ClusterListen, o.JetStream = "c", "h:1", true },
		"store_dir":        func(o *natsserver.Options) { o.JetStream = true },
		"max_store":        func(o *natsserver.Options) { o.MaxStore = 1 },
		"sync_interval":    func(o *natsserver.Options) { o.SyncInterval = "never" },
		"election_timeout": func(o *natsserver.Options) { o.Election = 1 },
		"monitor":          func(o *natsserver.Options) { o.Monitor = "8222" },
		"tls_cert":         func(o *natsserver.Options) { o.CA = "ca.pem" },
	} {
		o := natsserver.Default()
		change(&o)
		field, ok := errors.AsType[*config.FieldError](o.Validate())
		if !ok || field.Key != key || field.Problem == "" {
			t.Errorf("%s: %+v", key, field)
		}
	}
}

// A server that would be open to other machines is a mistake in the settings, which no restart mends: it
// is found before the start.
func TestOpenServerIsAMistake(t *testing.T) {
	tls := func(o *natsserver.Options) { o.CA, o.Cert, o.Key = "ca.pem", "cert.pem", "key.pem" }
	for name, c := range map[string]struct {
		change func(*natsserver.Options)
		key    string // that is refused, "" for none
	}{
		"open":             {func(o *natsserver.Options) { o.Listen = "0.0.0.0:4222" }, "listen"},
		"a name":           {func(o *natsserver.Options) { o.Listen = "n1:4222" }, "listen"},
		"with a secret":    {func(o *natsserver.Options) { o.Listen, o.SecretFile = "n1:4222", "secret" }, "listen"},
		"open to servers":  {func(o *natsserver.Options) { o.ClusterName, o.ClusterListen = "c", "n1:6222" }, "cluster_listen"},
		"unknown clients":  {func(o *natsserver.Options) { o.Listen, o.Cert, o.Key = "n1:4222", "cert.pem", "key.pem" }, "tls_ca"},
		"TLS":              {func(o *natsserver.Options) { tls(o); o.Listen = "n1:4222" }, ""},
		"insecure":         {func(o *natsserver.Options) { o.Listen, o.Insecure = "n1:4222", true }, ""},
		"its own settings": {func(o *natsserver.Options) { o.Listen, o.ConfigFile = "n1:4222", "nats.conf" }, ""},
		"TLS and a secret": {func(o *natsserver.Options) { tls(o); o.Listen, o.CA, o.SecretFile = "n1:4222", "", "secret" }, ""},
	} {
		o := natsserver.Default()
		c.change(&o)
		field, refused := errors.AsType[*config.FieldError](o.Validate())
		if refused != (c.key != "") || refused && field.Key != c.key {
			t.Errorf("%s: %+v, want a refusal of %q", name, field, c.key)
		}
	}
}

func TestStartErrors(t *testing.T) {
	first, err := natsserver.Start(natsserver.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	taken := strings.TrimPrefix(first.URL(), "nats://")
	missing := filepath.Join(t.TempDir(), "none")
	for want, o := range map[string]natsserver.Options{
		"in use":       {Listen: taken},
		"missing port": {Listen: "no port"},
		"none":         {Listen: "127.0.0.1:0", ConfigFile: missing},
		"certificate":  {Listen: "127.0.0.1:0", Cert: missing, Key: missing},
		"a route is":   {Listen: "127.0.0.1:0", ClusterName: "c", ClusterListen: "127.0.0.1:0", Routes: []string{"nats://ann:hush@h"}},
	} {
		_, err := natsserver.Start(o)
		if e, ok := errors.AsType[*api.Error](err); !ok || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") || e.Next == "" {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The data of one server is there when it is started again, and its address serves it.
func TestRestart(t *testing.T) {
	c := natsservertest.Start(t, 1, func(o *natsserver.Options) { o.Monitor = "127.0.0.1:0" })
	open := func() *jetstore.Store {
		s, err := jetstore.Open(t.Context(), jetstore.Options{Access: notice.Access{URL: c.URL()}, Name: "the test", Cluster: "c", Replicas: 1, Log: daemontest.Log(t)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	id := s.ClusterID()
	s.Close()
	c.Stop(0)
	c.Start(0)
	s = open()
	defer s.Close()
	if s.ClusterID() != id || id == "" {
		t.Errorf("the id %q, and %q after a restart", id, s.ClusterID())
	}
	if !strings.HasPrefix(c.Servers[0].MonitorURL(), "http://127.0.0.1:") || c.Servers[0].ClusterURL() != "" {
		t.Errorf("monitoring at %q, cluster at %q", c.Servers[0].MonitorURL(), c.Servers[0].ClusterURL())
	}
}

// A server that cannot keep its streams ends its start with the folder and the reason, and does not
// wait for what will not come.
func TestUnusableStoreEndsTheStart(t *testing.T) {
	for _, c := range []struct {
		file string // where a folder should be
		want string
	}{
		{"jetstream", "jetstream: not a directory"},
		{filepath.Join("jetstream", "$SYS"), "it cannot start with store_dir"}, // of clustered servers
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			o := natsserver.Default()
			o.Name, o.Listen, o.ClusterName, o.ClusterListen, o.Routes = "n1", "127.0.0.1:0", "c", "127.0.0.1:0", []string{"127.0.0.1:1"}
			o.JetStream, o.StoreDir = true, t.TempDir()
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(o.StoreDir, c.file)), 0o700), os.WriteFile(filepath.Join(o.StoreDir, c.file), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			s, err := natsserver.Start(o)
			if err == nil {
				_ = s.Close()
				t.Fatal("it serves")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), o.StoreDir) || strings.Contains(err.Error(), "not ready after") {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// A server that kept streams alone does not start as one of a cluster, which would delete them; one that was
// of a cluster does.
func TestStreamsOfAServerThatWasAlone(t *testing.T) {
	o := natsserver.Default()
	o.Name, o.Listen, o.JetStream, o.StoreDir, o.Log = "n1", "127.0.0.1:0", true, t.TempDir(), daemontest.Log(t)
	start := func() (*natsserver.Server, error) { return natsserver.Start(o) }
	alone, err := start()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jetstore.Open(t.Context(), jetstore.Options{Access: notice.Access{URL: alone.URL()}, Name: "the test", Cluster: "c", Replicas: 1, Log: daemontest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	o.ClusterName, o.ClusterListen, o.Routes = "c", "127.0.0.1:0", []string{"127.0.0.1:1"}
	clustered, err := start()
	if err == nil {
		_ = clustered.Close() // the test has failed
	}
	if err == nil || !strings.Contains(err.Error(), o.StoreDir) || !strings.Contains(err.Error(), "was alone") {
		t.Errorf("as one of a cluster: %v", err)
	}
	o.StoreDir = t.TempDir()
	for range 2 {
		s, err := start()
		if err != nil {
			t.Fatalf("a server that was always one of a cluster: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
