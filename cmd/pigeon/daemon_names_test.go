package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Names that daemons can have are accepted, and all others are refused: what is made for them would
// admit nobody, and the daemon that was meant would be refused later, by others.
func TestNamesThatNoDaemonHas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	ran(t, "pki", "init", "--dir", dir)
	for _, c := range []struct{ role, name, want string }{
		{"master", "one", `no master has the group "one"; use a number from 0 to 32767`},
		{"master", "00", `no master has the group "00"`},
		{"master", "32768", `no master has the group "32768"`},
		{"node", "n1@host", `no node has the id "n1@host"; use 1 to 128 letters`},
		{"node", "_n1", `no node has the id "_n1"`},
	} {
		failing(t, c.want, "pki", "issue", "--dir", dir, "--role", c.role, "--name", c.name)
		failing(t, c.want, "nats", "permissions", "--"+c.role+"s", c.name)
	}
	long := strings.Repeat("f", 129)
	failing(t, `no frontend has the id "fff`, "nats", "permissions", "--frontends", long)
	failing(t, `the name of the cluster is "a b"`, "nats", "permissions", "--cluster", "a b", "--nodes", "n1")
	for _, role := range []identity.Role{identity.Node, identity.Frontend, identity.Master} {
		failing(t, "a "+string(role)+" without a name was given", "nats", "permissions", "--"+string(role)+"s", "0,")
	}
	for _, c := range []struct{ role, name string }{{"master", "32767"}, {"master", "0"}, {"node", "n.1"}, {"frontend", "f+1"}, {"user", "alice@example.org"}, {"nats", "nats_1"}} {
		ran(t, "pki", "issue", "--dir", dir, "--role", c.role, "--name", c.name)
	}
}

// A daemon that is named twice was perhaps to be another, which NATS would not admit. Daemons of other
// roles may have its name.
func TestNATSPermissionsNameADaemonOnce(t *testing.T) {
	for _, c := range []struct{ flag, names, want string }{
		{"--nodes", "n1,n1", "node n1 is given twice"}, {"--masters", "0,1, 0", "master 0 is given twice"}, {"--frontends", "f1,f2,f1", "frontend f1 is given twice"},
	} {
		failing(t, c.want, "nats", "permissions", c.flag, c.names)
	}
	ran(t, "nats", "permissions", "--nodes", "0,1", "--masters", "0,1", "--frontends", "0,1")
}
