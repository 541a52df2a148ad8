package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/access"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// ran runs a verb that must succeed, and returns what it prints.
func ran(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := pigeon(t, args...)
	if code != cli.ExitDone {
		t.Fatalf("pigeon %q: status %d, %s", args, code, errs)
	}
	return out
}

// failing runs a verb that must fail with a text.
func failing(t *testing.T, want string, args ...string) {
	t.Helper()
	if code, out, errs := pigeon(t, args...); code == cli.ExitDone || out != "" || !strings.Contains(errs, want) {
		t.Errorf("pigeon %q: status %d, %q, %q; want %q", args, code, out, errs, want)
	}
}

// The next command that is printed can be copied, whatever the name of the folder.
func TestNextAfterInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my pki")
	if text := ran(t, "pki", "init", "--dir", dir); !strings.Contains(text, "pigeon pki issue --dir '"+dir+"' --role") {
		t.Errorf("%s", text)
	}
}

// Clients of NATS check the host in a server's certificate: one without any is of no use.
func TestServerWithoutHost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	ran(t, "pki", "init", "--dir", dir, "--cluster", "c")
	const note = "It names no host"
	if out := ran(t, "pki", "issue", "--dir", dir, "--role", "nats", "--name", "n1"); !strings.Contains(out, note) {
		t.Errorf("without a host: %q", out)
	}
	for _, args := range [][]string{{"nats", "n2", "--host", "10.0.0.1"}, {"node", "n1"}} {
		if out := ran(t, append([]string{"pki", "issue", "--dir", dir, "--role", args[0], "--name"}, args[1:]...)...); strings.Contains(out, note) {
			t.Errorf("%v: %q", args, out)
		}
	}
}

// A certificate that ends with its authority cannot be renewed: the exit status says so to what runs the
// command every day.
func TestAuthorityThatEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	ran(t, "pki", "init", "--dir", dir, "--cluster", "c", "--ttl", "20d")
	ran(t, "pki", "issue", "--dir", dir, "--role", "node", "--name", "n1")
	if code, out, errs := pigeon(t, "pki", "renew", "--dir", dir); code != cli.ExitFailed || out != "" || !strings.Contains(errs, "it ends with its authority") {
		t.Errorf("status %d, %q, %q", code, out, errs)
	}
	if out := ran(t, "pki", "renew", "--dir", dir, "--within", "10d"); !strings.Contains(out, "none of 1 certificates") {
		t.Errorf("%q", out)
	}
}

// A certificate is issued, shown, renewed when it is due, revoked, and then not renewed.
func TestPKI(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	failing(t, "pigeon pki init", "pki", "issue", "--dir", dir, "--role", "node", "--name", "n1")
	made := lines[access.CertificateLine](t, ran(t, "pki", "init", "--dir", dir, "--cluster", "prod", "-o", "json"))
	if l := made[0]; len(made) != 1 || l.Role != "authority" || l.Cluster != "prod" || l.State != "good" || len(l.Fingerprint) != 64 {
		t.Errorf("%+v", made)
	}
	failing(t, "already", "pki", "init", "--dir", dir)
	text := ran(t, "pki", "issue", "--dir", dir, "--role", "frontend", "--name", "f0", "--host", "f0.example.org", "--host", "10.0.0.1")
	for _, want := range []string{"certificate of frontend f0", "tls: " + filepath.Join(dir, "frontend-f0") + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	ran(t, "pki", "issue", "--dir", dir, "--role", "node", "--name", "n1", "--ttl", "20d")
	ran(t, "pki", "issue", "--dir", dir, "--role", "client", "--name", "alice", "--ttl", "90d", "--out", filepath.Join(dir, "people", "alice"))
	failing(t, "already", "pki", "issue", "--dir", dir, "--role", "node", "--name", "n1")

	shown := lines[access.CertificateLine](t, ran(t, "pki", "show", "--dir", dir, "-o", "json"))
	var names []string
	for _, l := range shown {
		names = append(names, l.Role+" "+l.Name)
	}
	if got := strings.Join(names, ", "); got != "authority Pigeon authority of prod, frontend f0, node n1, user alice" {
		t.Errorf("shown: %s", got)
	}
	if l := shown[1]; strings.Join(l.Hosts, " ") != "f0.example.org 10.0.0.1" || l.Ends-l.Begins < (364*24*time.Hour).Seconds() {
		t.Errorf("%+v", l)
	}

	renewed := lines[access.CertificateLine](t, ran(t, "pki", "renew", "--dir", dir, "-o", "json")) // within 30 days
	if len(renewed) != 1 || renewed[0].Name != "n1" || renewed[0].Serial == shown[2].Serial {
		t.Errorf("%+v", renewed)
	}
	if out := ran(t, "pki", "renew", "--dir", dir, "--within", "1d"); !strings.Contains(out, "none of 3 certificates") {
		t.Errorf("%q", out)
	}
	failing(t, "there is no tls.crt", "pki", "renew", "--dir", dir, t.TempDir())

	revoked := lines[access.CertificateLine](t, ran(t, "pki", "revoke", "--dir", dir, "--role", "node", "--name", "n1", "-o", "json"))
	if len(revoked) != 2 || revoked[0].State != "revoked" || revoked[1].State != "revoked" {
		t.Errorf("%+v", revoked)
	}
	ran(t, "pki", "revoke", "--dir", dir, shown[3].Serial)
	if l := lines[access.CertificateLine](t, ran(t, "pki", "show", "--dir", dir, "-o", "json", filepath.Join(dir, "people", "alice"))); len(l) != 1 || l[0].State != "revoked" || l[0].Role != "user" {
		t.Errorf("%+v", l)
	}
	// One that is refused does not stop the others.
	code, out, errs := pigeon(t, "pki", "renew", "--dir", dir, "--within", "10000d", "-o", "json")
	if l := lines[access.CertificateLine](t, out); code != cli.ExitFailed || len(l) != 1 || l[0].Name != "f0" || strings.Count(errs, "was revoked") != 2 {
		t.Errorf("status %d, %s, %s", code, out, errs)
	}
	for _, args := range [][]string{{"pki", "revoke", "--dir", dir, "abc"}, {"pki", "revoke", "--dir", dir, "--role", "node", "--name", "n2"}} {
		failing(t, "nothing was changed", args...)
	}
	failing(t, "pigeon pki show", "pki", "revoke", "--dir", dir)
	failing(t, "use days and hours", "pki", "issue", "--dir", dir, "--role", "node", "--name", "n3", "--ttl", "-5d")
	if got := ran(t, "pki", "show", "--dir", dir); !strings.Contains(got, "ROLE") || strings.Count(got, "\n") != 7 {
		t.Errorf("%s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "node-n1", authority.KeyFile)); err != nil {
		t.Error(err)
	}
}

// A token is made once, for a file or the terminal, and counts until it is revoked.
func TestToken(t *testing.T) {
	file, out := filepath.Join(t.TempDir(), "tokens"), filepath.Join(t.TempDir(), "alice.token")
	t.Setenv(access.TokensVariable, file)
	failing(t, "pigeon token create", "token", "list")
	made := lines[access.TokenLine](t, ran(t, "token", "create", "--user", "alice", "--role", "operator", "--ttl", "1d12h", "--out", out, "-o", "json"))
	if l := made[0]; l.Token != "" || l.User != "alice" || l.Role != "operator" || l.State != "good" || l.Expires-l.Created != (36*time.Hour).Seconds() {
		t.Errorf("%+v", l)
	}
	text, err := os.ReadFile(out)
	info, err2 := os.Stat(out)
	if err != nil || err2 != nil || info.Mode() != 0o600 || !strings.HasPrefix(string(text), "pigeon_"+made[0].ID+"_") || !strings.HasSuffix(string(text), "\n") {
		t.Errorf("%v %v: %q", err, err2, text)
	}
	failing(t, "already", "token", "create", "--user", "alice", "--role", "user", "--out", out)
	printed := ran(t, "token", "create", "--user", "bob", "--role", "user", "--ttl", "0")
	if !strings.HasPrefix(printed, "pigeon_") || strings.Count(printed, "\n") != 1 {
		t.Errorf("%q", printed)
	}
	list := lines[access.TokenLine](t, ran(t, "token", "list", "-o", "json"))
	if len(list) != 2 || list[1].User != "bob" || list[1].Expires != 0 || list[0].Token != "" {
		t.Errorf("%+v", list)
	}
	if got := ran(t, "token", "list"); !strings.Contains(got, "never") || strings.Contains(got, strings.TrimSpace(printed)) {
		t.Errorf("%s", got)
	}
	revoked := lines[access.TokenLine](t, ran(t, "token", "revoke", made[0].ID, "-o", "json"))
	if len(revoked) != 1 || revoked[0].State != "revoked" {
		t.Errorf("%+v", revoked)
	}
	failing(t, "pigeon token list", "token", "revoke", "x")
	failing(t, "viewer, user, operator, admin", "token", "create", "--user", "x", "--role", "king")
	failing(t, "role", "token", "create", "--user", "x")
	// A token that cannot be kept does not count.
	failing(t, "--out", "token", "create", "--user", "eve", "--role", "user", "--out", filepath.Join(t.TempDir(), "absent", "x"))
	for _, l := range lines[access.TokenLine](t, ran(t, "token", "list", "-o", "json")) {
		if l.User == "eve" && l.State != "revoked" {
			t.Errorf("%+v", l)
		}
	}
}

// A token that could not be printed counts no more, since nobody has it: neither on a full disk nor
// when the program that was to read it has ended. One that is in a file stays.
func TestTokenThatCannotBePrinted(t *testing.T) {
	file, out := filepath.Join(t.TempDir(), "tokens"), filepath.Join(t.TempDir(), "ann.token")
	create := []string{"token", "create", "--file", file, "--role", "user", "--user"}
	for user, more := range map[string][]string{"text": nil, "json": {"-o", "json"}} {
		var errs bytes.Buffer
		if code := run(t.Context(), slices.Concat(create, []string{user}, more), strings.NewReader(""), &fullDisk{}, &errs); code != cli.ExitFailed || !strings.Contains(errs.String(), "is revoked again") {
			t.Errorf("status %d, %s", code, &errs)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(create, "pipe")...)
	cmd.Stdout = w
	if err := errors.Join(r.Close(), cmd.Start(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the token was printed to nobody, without an error")
	}
	var errs bytes.Buffer
	if code := run(t.Context(), append(create, "ann", "--out", out), strings.NewReader(""), &fullDisk{}, &errs); code != cli.ExitFailed || !strings.Contains(errs.String(), "is made and in "+out) {
		t.Errorf("status %d, %s", code, &errs)
	}
	list := lines[access.TokenLine](t, ran(t, "token", "list", "--file", file, "-o", "json"))
	if len(list) != 4 {
		t.Errorf("%d tokens, want 4", len(list))
	}
	for _, l := range list {
		if want := map[bool]string{true: "good", false: "revoked"}[l.User == "ann"]; l.State != want {
			t.Errorf("the token of %s is %s, want %s", l.User, l.State, want)
		}
	}
}
