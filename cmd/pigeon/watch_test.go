package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	history, page, both := filepath.Join(dir, "life.jsonl"), filepath.Join(dir, "page.html"), filepath.Join(dir, "both.html")
	workload := []string{"sim", "--trace", "gen:ec2,jobs=60", "--workers", "12"}
	code, stdout, stderr := pigeon(t, append(workload, "--policy", "pigeon", "--policy", "sparrow", "--watch", both)...)
	if code != exitDone || !strings.Contains(stdout, both) {
		t.Fatalf("status %d\n%s\n%s", code, stdout, stderr)
	}
	if code, _, stderr := pigeon(t, append(workload, "--history", history, "--watch", page)...); code != exitDone {
		t.Fatal(stderr)
	}
	direct := contents(t, page)
	if code, stdout, stderr := pigeon(t, "watch", history, "--out", page, "--title", "pigeon"); code != exitDone || !strings.Contains(stdout, page) {
		t.Fatalf("status %d\n%s", code, stderr)
	}
	if read := contents(t, page); read != direct || !strings.Contains(read, `"title":"pigeon"`) {
		t.Error("the page of a history differs from that of its simulation")
	}
	if text := contents(t, both); !strings.Contains(text, `"title":"pigeon"`) || !strings.Contains(text, `"title":"sparrow"`) {
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
		"watch":                               "name a history",
		"watch absent.jsonl":                  "absent.jsonl",
		"watch " + empty:                      "no task that ran",
		"watch a b c d e":                     "4 at most",
		"watch x --cutoff 0s":                 "--cutoff",
		"watch x --until -1s":                 "--until",
		"watch x --speedup 0":                 "--speedup",
		"watch x --queues none":               "--queues",
		"watch x --title a --title b":         "2 titles for 1",
		"sim --seeds 5 --watch " + page:       "4 at most",
		"sim --watch " + dir + "/absent/page": "absent",
	} {
		words := strings.Fields(args)
		if words[0] == "watch" {
			words = append(words, "--out", page)
		}
		if code, stdout, stderr := pigeon(t, words...); code != exitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("pigeon %s: status %d, want %d and %q\n%s\n%s", args, code, exitUsage, want, stdout, stderr)
		}
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("a refused page was written")
	}
}
