package natsserver_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
)

// When another authority is added while servers run, one that is started again with its certificate joins
// them.
func TestServerOfAnotherAuthorityJoins(t *testing.T) {
	t.Parallel()
	former, next, log := newRevocable(t), newRevocable(t), &daemontest.Text{}
	start := func(name, folder string, routes ...string) *natsserver.Server {
		t.Helper()
		o := former.server(folder)
		o.Name, o.ClusterName, o.ClusterListen, o.Routes, o.Log = name, "c", "127.0.0.1:0", routes, slog.New(slog.NewTextHandler(log, nil))
		s, err := natsserver.Start(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	own, _ := former.issue(authority.NATS, "n1")
	first := start("n1", own)
	var both []byte
	for _, p := range []*revocable{former, next} {
		pem, err := os.ReadFile(filepath.Join(p.dir, "pki", authority.CAFile))
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, pem...)
	}
	folder, _ := next.issue(authority.NATS, "n2")
	for _, of := range []string{own, folder} {
		if err := os.WriteFile(filepath.Join(of, authority.TrustFile), both, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "the first server has read the authorities", func() bool { return strings.Contains(log.String(), "certificates were read again") })
	start("n2", folder, first.ClusterURL())
	await.Until(t, "the servers are connected", func() bool {
		return first.Peers() == 2 || strings.Contains(log.String(), "signed by unknown authority")
	}, log.String)
	if first.Peers() != 2 {
		t.Errorf("the second server was refused:\n%s", log.String())
	}
}

// Where a configuration file has the certificates of servers and their authorities, these count, and not those
// of clients.
func TestAuthoritiesOfServersInAFile(t *testing.T) {
	t.Parallel()
	clients, servers := newAuthority(t), newAuthority(t)
	cert, key := servers.issue("other://s1")
	o := natsserver.Default()
	o.Listen, o.Cluster, o.CA, o.Log = "127.0.0.1:0", "c", clients.file, daemontest.Log(t)
	o.Cert, o.Key = clients.issue("pigeon://c/master/0")
	o.ConfigFile = write(t, "servers.conf", fmt.Appendf(nil, "server_name: first\ncluster { name: c, listen: \"127.0.0.1:-1\", tls { ca_file: %q, cert_file: %q, key_file: %q, verify: true } }\n", servers.file, cert, key))
	first, err := natsserver.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	end := servers.join(first.ClusterURL(), "other://s2")
	defer end()
	await.Until(t, "the servers are connected", func() bool { return first.Peers() == 2 })
}
