package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cli"

	"github.com/spf13/cobra"
)

// Every verb that the help shows has a manual page, of the commit's date, and two runs write the
// same bytes.
func TestManual(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "man1"), t.TempDir()
	v := cli.Version{Version: "v1.2.3", Time: "2026-02-03T04:05:06Z"}
	for _, folder := range []string{first, second} {
		if err := writeManual(newRoot(testRoles()), folder, v); err != nil {
			t.Fatal(err)
		}
	}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		page, err := os.ReadFile(filepath.Join(first, name+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		again, err := os.ReadFile(filepath.Join(second, name+".1"))
		if err != nil || string(again) != string(page) {
			t.Errorf("a second run wrote another page of %s, %v", name, err)
		}
		for _, part := range []string{".TH", "Feb 2026", "pigeon v1.2.3", ".SH NAME", ".SH SYNOPSIS"} {
			if !strings.Contains(string(page), part) {
				t.Errorf("the page of %s lacks %q", name, part)
			}
		}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				look(c)
			}
		}
	}
	look(newRoot(testRoles()))
}

func TestManualWithoutFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := pigeon(t, "man", filepath.Join(file, "man1"))
	if code != cli.ExitFailed || !strings.Contains(errs, "name another one") {
		t.Errorf("status %d: %s", code, errs)
	}
	// A build without a commit has no date, and pages all the same.
	if err := writeManual(newRoot(testRoles()), t.TempDir(), cli.Version{Version: "(devel)", Time: time.Kitchen}); err != nil {
		t.Error(err)
	}
}

// The pages are formatted without a warning of their macros, where groff is, and man shows one.
func TestManualIsFormatted(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"groff", "man"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
	folder := t.TempDir()
	if err := writeManual(newRoot(testRoles()), folder, cli.Version{Version: "v1.2.3"}); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*.1"))
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	out, err := exec.CommandContext(t.Context(), "groff", append([]string{"-man", "-Tutf8", "-K", "utf8", "-z", "-wmac", "-wsyntax", "-Wbreak"}, pages...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "man", "--local-file", filepath.Join(folder, "pigeon-submit.1"))
	cmd.Env = append(os.Environ(), "MANPAGER=cat", "MANWIDTH=100", "LC_ALL=C.UTF-8")
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"pigeon-submit - Submit a job", "EXAMPLE", "SEE ALSO"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the page as man shows it lacks %q:\n%s", part, text)
		}
	}
}

// bash reads its completions and completes a verb with them.
func TestCompletionInBash(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	_, script, _ := pigeon(t, "completion", "bash")
	file, bin := filepath.Join(t.TempDir(), "pigeon.bash"), t.TempDir()
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "pigeon")); err != nil {
		t.Fatal(err)
	}
	// The function that bash-completion brings would set these variables of its caller.
	const complete = `set -e; source "$1"
_init_completion() { cur=conf prev=pigeon words=(pigeon conf) cword=1; }
__ltrim_colon_completions() { :; }; compopt() { :; }
__start_pigeon; echo "${COMPREPLY[@]}"`
	cmd := exec.CommandContext(t.Context(), "bash", "--norc", "-c", complete, "bash", file)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "config" {
		t.Errorf("bash completes conf to %q, %v", out, err)
	}
}
