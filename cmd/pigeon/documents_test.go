package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/documents"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// TestDocumentedCommandsExist: every verb and flag that a page writes after "pigeon" exists.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	if checked := documents.CheckCalls(t, newRoot(connect.Roles())); checked < 100 {
		t.Errorf("only %d calls found", checked)
	}
}

// TestEveryVerbIsDocumented: a page shows a call of each verb of "pigeon help". The lists of keys
// and of decisions do not count, since nobody learns there what a verb is for.
func TestEveryVerbIsDocumented(t *testing.T) {
	t.Parallel()
	called := map[string]bool{"help": true}
	for name, text := range documents.Pages(t) {
		if filepath.Base(name) == "json.md" || filepath.Base(filepath.Dir(name)) == "adr" {
			continue
		}
		for _, call := range documents.Invocations(text, "pigeon") {
			called[call.Words[0]] = true
		}
	}
	for _, verb := range newRoot(connect.Roles()).Commands() {
		if !verb.Hidden && !called[verb.Name()] {
			t.Errorf("no page shows a call of pigeon %s", verb.Name())
		}
	}
}

// TestDocumentedSpecsExist: policies and generators that a page writes with parameters take them.
func TestDocumentedSpecsExist(t *testing.T) {
	t.Parallel()
	parameters := `:[a-z]+=[a-z0-9.]+(?:,[a-z]+=[a-z0-9.]+)*`
	policies := regexp.MustCompile(`\b(?:` + strings.Join(policy.Names(), "|") + `)` + parameters)
	generators := regexp.MustCompile(`\bgen` + strings.Replace(parameters, "=", ",[a-z]+=", 1))
	checked := 0
	for name, text := range documents.Pages(t) {
		for _, spec := range policies.FindAllString(text, -1) {
			checked++
			if _, _, err := policy.Configure(spec, sched.Params{Cutoff: sched.Second}); err != nil {
				t.Errorf("%s: %s: %v", name, spec, err)
			}
		}
		for _, spec := range generators.FindAllString(text, -1) {
			checked++
			if _, err := workload.Open(spec); err != nil {
				t.Errorf("%s: %s: %v", name, spec, err)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d specifications found", checked)
	}
}

func TestCallFault(t *testing.T) {
	root := newRoot(connect.Roles())
	for call, want := range map[string]string{
		"run --class short":       "",
		"logs -f JOB":             "",
		"status [--output=json]":  "",
		"config check frontend x": "",
		"rum":                     "no such verb",
		"run --klass short":       "no flag --klass",
		"logs -z JOB":             "no flag -z",
		"config chekc frontend":   "no such verb below config",
	} {
		got := documents.CallFault(root, strings.Fields(call))
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("pigeon %s: %q, want %q", call, got, want)
		}
	}
}

// TestDocuments runs the commands of the pages, each page in its own folder and with its own
// "pigeon dev" if it starts one, as a reader would who copies them.
func TestDocuments(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash to run the commands with")
	}
	bin := t.TempDir()
	root, err := documents.Root()
	if err != nil {
		t.Fatal(err)
	}
	for folder, program := range map[string]string{".": "./cmd/pigeon", "bench": "./cmd/pigeon-bench"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, program)
		build.Dir, build.Env = filepath.Join(root, folder), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	ran := 0
	for name, text := range documents.Pages(t) {
		commands, err := documents.Commands(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(commands) == 0 {
			continue
		}
		ran++
		t.Run(name, func(t *testing.T) { runPage(t, bin, commands) })
	}
	if ran == 0 {
		t.Error("no page has commands to run")
	}
}

func runPage(t *testing.T, bin string, commands []documents.Command) {
	dir := t.TempDir()
	env := []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=dumb", "USER=" + os.Getenv("USER"), "LOGNAME=" + os.Getenv("LOGNAME")}
	for _, name := range []string{"HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"} {
		folder := filepath.Join(dir, strings.ToLower(name))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+folder)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	shell, err := documents.StartShell(work, env)
	if err != nil {
		t.Fatal(err)
	}
	defer shell.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // ends a hang
	defer cancel()
	for _, c := range commands {
		output, status, err := shell.Run(ctx, c.Text)
		if err != nil {
			t.Fatalf("line %d: $ %s: %v; it printed\n%s", c.Line, c.Text, err, output)
		}
		if err := c.Check(withoutWaiting(output), status); err != nil {
			t.Fatal(err)
		}
	}
}

// The pages that a reader sees first say what Pigeon is not.
func TestPagesSayWhatPigeonIsNot(t *testing.T) {
	t.Parallel()
	texts := documents.Pages(t)
	for _, page := range []string{"README.md", "docs/users.md"} {
		for _, words := range []string{"one slot", "reserve nothing", "MPI", "terminal", "interpreter"} {
			if !strings.Contains(texts[page], words) {
				t.Errorf("%s does not say %q", page, words)
			}
		}
	}
}
