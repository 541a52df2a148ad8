package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/documents"
	"github.com/pigeon-sched/pigeon/internal/text"
)

// twoHosts writes the inventory of a cluster of two hosts and returns its path.
func twoHosts(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "inventory.yaml")
	const inventory = "hosts:\n  - {name: m, address: 10.0.0.1, roles: [master, frontend]}\n  - {name: n, address: 10.0.0.2, roles: [node], slots: 1}\n"
	if err := os.WriteFile(file, []byte(inventory), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The list of what changed is a list also when nothing did.
func TestPlanUnchanged(t *testing.T) {
	file := twoHosts(t)
	var out, errs bytes.Buffer
	for range 2 {
		out.Reset()
		if code := run(t.Context(), []string{"cluster", "plan", file, "-o", "json"}, strings.NewReader(""), &out, &errs); code != cli.ExitDone {
			t.Fatalf("status %d, %s", code, &errs)
		}
	}
	if !strings.Contains(out.String(), `"changed":[]`) {
		t.Errorf("%s", &out)
	}
}

// A host that the inventory leaves out is reported.
func TestPlanLeavesAHostOut(t *testing.T) {
	file := twoHosts(t)
	plan := func(args ...string) (int, string) {
		var errs bytes.Buffer
		return run(t.Context(), append([]string{"cluster"}, args...), strings.NewReader(""), io.Discard, &errs), errs.String()
	}
	if code, errs := plan("plan", file); code != cli.ExitDone || errs != "" {
		t.Fatalf("status %d, %s", code, errs)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "name: n,", "name: x,")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, errs := plan("plan", file); code != cli.ExitDone || !strings.Contains(errs, `host "n" is not in the inventory any more`) {
		t.Errorf("status %d, %s", code, errs)
	}
}

// A plan that would leave replicas without a server is refused, and nothing is written.
func TestPlanKeepsReplicas(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inventory.yaml")
	const inventory = "security: insecure\nsettings: {node: {run_as: nobody}}\nhosts:\n  - {name: \"m{1-3}\", address: \"10.0.0.{1-3}\", roles: [nats, master, frontend, node], slots: 1}\n"
	plan := func(text string) (int, string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		return run(t.Context(), []string{"cluster", "plan", file}, strings.NewReader(""), io.Discard, &errs), errs.String()
	}
	if code, errs := plan(inventory); code != cli.ExitDone {
		t.Fatalf("status %d, %s", code, errs)
	}
	if code, errs := plan(strings.ReplaceAll(inventory, "{1-3}", "{2-4}")); code != cli.ExitUsage || !strings.Contains(errs, `the NATS server of host "m1" is left out`) {
		t.Errorf("status %d, %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "pigeon-plan", "hosts", "m4")); err == nil {
		t.Error("a refused plan was written")
	}
}

// An authority that cannot be written is no mistake in the inventory: a script may try again.
func TestPlanCannotBeWritten(t *testing.T) {
	file, out := twoHosts(t), filepath.Join(t.TempDir(), "plan")
	obstacle := filepath.Join(out, "authority", "issued")
	if err := errors.Join(os.MkdirAll(filepath.Dir(obstacle), 0o700), os.WriteFile(obstacle, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	if code := run(t.Context(), []string{"cluster", "plan", file, "--out", out}, strings.NewReader(""), io.Discard, &errs); code != cli.ExitFailed || !strings.Contains(errs.String(), "not a directory") {
		t.Errorf("status %d, %s", code, &errs)
	}
	if err := os.WriteFile(file, []byte("hosts: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run(t.Context(), []string{"cluster", "plan", file, "--out", out}, strings.NewReader(""), io.Discard, io.Discard); code != cli.ExitUsage {
		t.Errorf("a mistake in the inventory: status %d", code)
	}
}

// The token of docs/deploy.md is in a file that the next command of the page takes: one that other users
// cannot read.
func TestTokenOfThePage(t *testing.T) {
	page := documents.Pages(t)["docs/deploy.md"]
	at := strings.Index(page, "\npigeon token create ")
	if at < 0 || !strings.Contains(page, "--token-file token ") {
		t.Fatal("the page makes no token, or uses none of the file token")
	}
	command, _, _ := strings.Cut(page[at+1:], "\n")
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "pigeon-plan"), 0o700); err != nil {
		t.Fatal(err)
	}
	sh := exec.CommandContext(t.Context(), "sh", "-c", "umask 022; USER=alice; pigeon() { "+text.Quote(os.Args[0])+` "$@"; }; `+command)
	sh.Dir = folder
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	if info, err := os.Stat(filepath.Join(folder, "token")); err != nil {
		t.Errorf("%s: %v", command, err)
	} else if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("%s: the file token has mode %o, want 600", command, mode)
	}
}

// One host is told as one.
func TestOneHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inventory.yaml")
	if err := os.WriteFile(file, []byte("hosts:\n  - {name: m, roles: [master, frontend, node], slots: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := succeed(t, "cluster", "plan", file); !strings.Contains(out, "\n1 host in ") {
		t.Errorf("a plan ends with %q", out)
	}
}
