package main

import (
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/access"
)

// Of two names, or two roles, none is dropped in silence: what was not revoked would still be admitted.
func TestRevokingTwoNamesIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	ran(t, "pki", "init", "--dir", dir)
	for _, name := range []string{"a", "b"} {
		ran(t, "pki", "issue", "--dir", dir, "--role", "node", "--name", name)
	}
	ran(t, "pki", "issue", "--dir", dir, "--role", "frontend", "--name", "b")
	failing(t, `invalid argument "b" for "--name" flag: it was given already, as "a"; give one role and one name`, "pki", "revoke", "--dir", dir, "--role", "node", "--name", "a", "--name", "b")
	failing(t, `invalid argument "frontend" for "--role" flag: it was given already, as "node"`, "pki", "revoke", "--dir", dir, "--role", "node", "--role", "frontend", "--name", "b")
	failing(t, "it is empty; give one role and one name", "pki", "revoke", "--dir", dir, "--role", "node", "--name", "")
	for _, l := range lines[access.CertificateLine](t, ran(t, "pki", "show", "--dir", dir, "-o", "json")) {
		if l.State != "good" {
			t.Errorf("%s %s is %s", l.Role, l.Name, l.State)
		}
	}
}
