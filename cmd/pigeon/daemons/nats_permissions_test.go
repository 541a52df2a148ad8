package daemons

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
)

// The output is a configuration of NATS, with the permissions of each daemon.
func TestNATSPermissionsAreAConfiguration(t *testing.T) {
	var out strings.Builder
	users := append(named(identity.Frontend, []string{"f1"}), append(named(identity.Master, []string{"0"}), named(identity.Node, []string{"n.1", "n2"})...)...)
	if err := writePermissions(&out, "prod", users); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "users.conf")
	if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(o.Users) != len(users) {
		t.Fatalf("%d users were read, want %d", len(o.Users), len(users))
	}
	for i, u := range o.Users {
		want, _ := natsserver.PermissionsOf("prod", users[i])
		if !strings.HasSuffix(u.Username, "/"+users[i].Name) || strings.Join(u.Permissions.Publish.Allow, " ") != strings.Join(want.Publish, " ") {
			t.Errorf("%s may publish to %v, want %v", u.Username, u.Permissions.Publish.Allow, want.Publish)
		}
	}
	if err := writePermissions(&out, "prod", []identity.Principal{{Role: identity.User, Name: "ann"}}); err == nil {
		t.Error("a person is admitted")
	}
}
