package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	var histories []string
	for _, policy := range []string{"pigeon", "sparrow"} {
		history := filepath.Join(dir, policy+".jsonl")
		if code, _, stderr := pigeonBench(t, "sim", "--trace", "gen:ec2,jobs=60", "--workers", "12", "--policy", policy, "--history", history); code != cli.ExitDone {
			t.Fatal(stderr)
		}
		histories = append(histories, history)
	}
	code, stdout, stderr := pigeonBench(t, append([]string{"watch", "--out", page}, histories...)...)
	if code != cli.ExitDone || !strings.Contains(stdout, page) {
		t.Fatalf("status %d\n%s\n%s", code, stdout, stderr)
	}
	if text := contents(t, page); !strings.Contains(text, `"title":"pigeon"`) || !strings.Contains(text, `"title":"sparrow"`) {
		t.Error("the page of two policies lacks one")
	}
}

func contents(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWatchRefusals(t *testing.T) {
	dir := t.TempDir()
	empty, page := filepath.Join(dir, "empty.jsonl"), filepath.Join(dir, "page.html")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"watch":                       "name a history",
		"watch absent.jsonl":          "absent.jsonl",
		"watch " + empty:              "no task that ran",
		"watch a b c d e":             "4 at most",
		"watch x --cutoff 0s":         "--cutoff",
		"watch x --until -1s":         "--until",
		"watch x --speedup 0":         "--speedup",
		"watch x --queues none":       "--queues",
		"watch x --title a --title b": "2 titles for 1",
	} {
		words := strings.Fields(args)
		if words[0] == "watch" {
			words = append(words, "--out", page)
		}
		if code, stdout, stderr := pigeonBench(t, words...); code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("pigeon %s: status %d, want %d and %q\n%s\n%s", args, code, cli.ExitUsage, want, stdout, stderr)
		}
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("a refused page was written")
	}
}
