package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A program that was found a moment ago is searched again when it cannot be started: it is found
// where it is now, or refused as if it had never been found.
func TestProgramThatMoved(t *testing.T) {
	list := confinedClients(t)
	t.Run("no limits", func(t *testing.T) { programThatMoved(t, client(t), Limits{}) })
	for by, c := range list {
		t.Run(by, func(t *testing.T) { programThatMoved(t, c, Limits{Memory: 1 << 30}) })
	}
}

func programThatMoved(t *testing.T, c *Client, limits Limits) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	install := func(folder, text string) string {
		t.Helper()
		program := filepath.Join(folder, "program")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+text), 0o755); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
		return program
	}
	run := func(name string) Event {
		t.Helper()
		s := Spec{Argv: []string{name}, Env: []string{"PATH=" + first + ":" + second}, Dir: filepath.Join(dir, "work"), MakeDir: true, Limits: limits}
		return start(t, c, s).end()
	}
	found := install(first, "exit 1")
	for range 3 {
		if e := run("program"); e.Kind != Ended || e.Status.ExitStatus() != 1 {
			t.Fatalf("the first one ended as %+v", e)
		}
	}
	if err := os.Remove(found); err != nil {
		t.Fatal(err)
	}
	other := install(second, "exit 2")
	if e := run("program"); e.Kind != Ended || e.Status.ExitStatus() != 2 {
		t.Errorf("after it has moved: %+v (%+v)", e, e.Fault)
	}
	if err := os.Chmod(other, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"program", other} {
		if e := run(name); e.Kind != Refused || !strings.Contains(e.Fault.What, "may not run the program") {
			t.Errorf("%s without the right to run it: %+v (%+v)", name, e, e.Fault)
		}
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if e := run("program"); e.Kind != Refused || !strings.Contains(e.Fault.What, "was not found in the PATH") {
		t.Errorf("without it: %+v (%+v)", e, e.Fault)
	}
}

// A folder that a task names is remembered as well: it is looked at again when the process cannot enter it,
// and for another user. One that is on no disk of this machine is looked at each time.
func TestFoldersAreRemembered(t *testing.T) {
	var p programs
	dir := t.TempDir()
	if !isLocal(dir) {
		t.Skipf("%s is on a file system that is not known to be local", dir)
	}
	own := []string{"PATH=" + os.Getenv("PATH")}
	for _, tc := range []struct {
		dir   string
		quick bool
	}{{dir, true}, {"/proc", false}} {
		spec := &Spec{Argv: []string{"true"}, Dir: tc.dir}
		if _, ok := prepareQuickly(spec, own, "mark", &p); ok {
			t.Errorf("%s: it was not looked at", tc.dir)
		}
		if _, fault := prepare(spec, own, "mark", &p); fault != nil {
			t.Fatal(fault)
		}
		if _, ok := prepareQuickly(spec, own, "mark", &p); ok != tc.quick {
			t.Errorf("%s: %v after it was looked at", tc.dir, ok)
		}
		if p.mayEnter(&Spec{Dir: tc.dir, As: &User{UID: 1}}) {
			t.Errorf("%s: another user may enter it", tc.dir)
		}
	}
	for i := range mostFound + 1 {
		p.folders[folderKey{user: strings.Repeat("x", i+1)}] = time.Now()
		p.entered(&Spec{Dir: dir})
	}
	if len(p.folders) > mostFound {
		t.Errorf("%d folders are remembered", len(p.folders))
	}
	p.folders[folderKey{path: dir}] = time.Now().Add(-foundFor)
	if p.mayEnter(&Spec{Dir: dir}) {
		t.Error("one that was looked at long ago is used")
	}
}

// A folder that has gone since it was remembered is named in the refusal.
func TestFolderThatHasGone(t *testing.T) {
	c := client(t)
	dir := filepath.Join(t.TempDir(), "work")
	for range 3 {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if e := start(t, c, Spec{Argv: []string{"true"}, Dir: dir}).end(); e.Kind != Ended {
				t.Fatalf("it ended as %+v (%+v)", e, e.Fault)
			}
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if e := start(t, c, Spec{Argv: []string{"true"}, Dir: dir}).end(); e.Kind != Refused || !strings.Contains(e.Fault.What, "does not exist on this node") {
			t.Errorf("without its folder it ended as %+v (%+v)", e, e.Fault)
		}
	}
}

// TestProgramIsSearchedAgain: use does not prolong the time for which a program is remembered.
func TestProgramIsSearchedAgain(t *testing.T) {
	var p programs
	spec := &Spec{Argv: []string{"true"}, Dir: filepath.Join(t.TempDir(), "work"), MakeDir: true}
	own := []string{"PATH=" + os.Getenv("PATH")}
	if _, fault := prepare(spec, own, "mark", &p); fault != nil {
		t.Fatal(fault)
	}
	k := keyOf(spec, os.Getenv("PATH"))
	found := foundProgram{path: p.found[k].path, at: p.found[k].at.Add(-foundFor / 4)}
	p.found[k] = found
	if again, fault := prepare(spec, own, "mark", &p); fault != nil || !again.remembered {
		t.Fatalf("%+v, %+v", again, fault)
	}
	if p.found[k] != found {
		t.Errorf("its time is %v, and was %v", p.found[k].at, found.at)
	}
}

// What a search depends on is part of what is remembered, and programs that are relative to their
// folder, or are written for one process, are always searched.
func TestProgramsAreRememberedBySearch(t *testing.T) {
	var p programs
	spec := func(change func(*Spec)) *Spec {
		s := &Spec{Argv: []string{"program"}}
		change(s)
		return s
	}
	p.put(keyOf(spec(func(*Spec) {}), "/bin"), "/bin/program")
	for name, other := range map[string]struct {
		change func(*Spec)
		path   string
		want   string
	}{
		"the same":       {func(*Spec) {}, "/bin", "/bin/program"},
		"other folders":  {func(*Spec) {}, "/usr/bin", ""},
		"another name":   {func(s *Spec) { s.Argv[0] = "/bin/program" }, "/bin", ""},
		"another user":   {func(s *Spec) { s.As = &User{UID: 1} }, "/bin", ""},
		"in its folder":  {func(s *Spec) { s.Argv[0] = "./program" }, "/bin", ""},
		"written for it": {func(s *Spec) { s.Script = &Script{Name: "program"} }, "/bin", ""},
	} {
		k := keyOf(spec(other.change), other.path)
		if got := p.get(k); got != other.want {
			t.Errorf("%s: %q, want %q", name, got, other.want)
		}
		if p.put(k, "x"); k == (programKey{}) && p.get(k) != "" {
			t.Errorf("%s: it is remembered", name)
		}
	}
	for i := range mostFound + 1 {
		p.put(programKey{name: strings.Repeat("x", i+1)}, "x")
	}
	if len(p.found) > mostFound {
		t.Errorf("%d programs are remembered", len(p.found))
	}
	p.found[programKey{name: "old"}] = foundProgram{path: "x"}
	if got := p.get(programKey{name: "old"}); got != "" {
		t.Errorf("one that was found long ago is used: %q", got)
	}
}
