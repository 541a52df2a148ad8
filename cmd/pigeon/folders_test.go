package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestWhatDaemonsKeepIsTheirs: no file and no folder of a cluster of processes lets others read or
// write, but the folders on the way to those of tasks, which can be passed.
func TestWhatDaemonsKeepIsTheirs(t *testing.T) {
	dir := t.TempDir()
	before := syscall.Umask(0o022)
	defer syscall.Umask(before)
	b, line := runDev(t, "--nodes", "1", "--groups", "1", "--data", filepath.Join(dir, "data"))
	succeed(t, "run", "--env", "PASSWORD=hunter2", "--", "sh", "-c", "echo out; echo err >&2; touch file")
	if code, errs := b.stop(); code != 0 {
		t.Fatal(errs)
	}
	seen := 0
	err := filepath.WalkDir(line.Data, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen++
		rel, _ := filepath.Rel(line.Data, path)
		mode := info.Mode().Perm()
		switch top, _, _ := strings.Cut(rel, "/"); {
		case mode&0o066 == 0 && (d.IsDir() || mode&0o011 == 0):
		case d.IsDir() && mode == 0o755 && (rel == "." || rel == "work" || rel == "journal"):
		case top == "journal" && !d.IsDir(): // in a folder that others cannot enter
		default:
			t.Errorf("%s has mode %o", rel, mode)
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("%d seen: %v", seen, err)
	}
}

var (
	// keptFiles is a row of the table in docs/operations.md of what daemons keep in their folders.
	keptFiles = regexp.MustCompile(`(?m)^\| ([^|]*)\| ([^|]+) \| [^|]+ \|$`)
	fileNamed = regexp.MustCompile("`([^`]+)`")
	// jobsFolder is a folder of a node with what the attempts of a job have written.
	jobsFolder = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// TestEveryFileIsExplained: docs/operations.md explains what is lost with each file and folder
// that a frontend and a node keep.
func TestEveryFileIsExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## What is lost with which file\n")
	section, _, _ = strings.Cut(section, "\n## ")
	explained := map[string][]string{} // by the daemon
	daemon := ""
	for _, row := range keptFiles.FindAllStringSubmatch(section, -1) {
		if name, _, _ := strings.Cut(strings.TrimSpace(row[1]), ","); name != "" {
			daemon = name
		}
		for _, m := range fileNamed.FindAllStringSubmatch(row[2], -1) {
			explained[daemon] = append(explained[daemon], m[1])
		}
	}
	dir := t.TempDir()
	b, line := runDev(t, "--nodes", "1", "--groups", "1", "--data", filepath.Join(dir, "data"))
	staged := filepath.Join(dir, "staged.txt")
	if err := os.WriteFile(staged, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	succeed(t, "run", "--stage", staged, "--", "sh", "-c", "echo out; touch file")
	succeed(t, "node", "drain", "node-0-000")
	if code, errs := b.stop(); code != 0 {
		t.Fatal(errs)
	}
	for daemon, folders := range map[string]string{"frontend": "journal", "node monitor": "work"} {
		entries, err := filepath.Glob(filepath.Join(line.Data, folders, "*", "*"))
		if err != nil || len(entries) < 5 {
			t.Errorf("a %s has %d files, %v", daemon, len(entries), err)
		}
		for _, path := range entries {
			name := filepath.Base(path)
			if !jobsFolder.MatchString(name) && !slices.ContainsFunc(explained[daemon], func(pattern string) bool {
				match, _ := filepath.Match(pattern, name) // an invalid pattern explains nothing
				return match
			}) {
				t.Errorf("docs/operations.md does not explain what is lost with %s of a %s", name, daemon)
			}
		}
	}
}
