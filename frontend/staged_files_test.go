package frontend_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// stagedFile is a file with its content.
func stagedFile(name, content string) api.StagedFile {
	h := sha256.Sum256([]byte(content))
	return api.StagedFile{Name: name, SHA256: hex.EncodeToString(h[:]), Size: int64(len(content))}
}

// stage sends contents by their names, and returns the files in the order of the names.
func (w *world) stage(f *frontOf, contents map[string]string) (list []api.StagedFile) {
	w.t.Helper()
	for name, content := range contents {
		list = append(list, stagedFile(name, content))
	}
	slices.SortFunc(list, func(a, b api.StagedFile) int { return strings.Compare(a.Name, b.Name) })
	have, err := f.StageFiles(w.t.Context(), list)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range list {
		if s := &list[i]; have[i] < s.Size {
			if _, err := f.StagePiece(w.t.Context(), s.SHA256, have[i], []byte(contents[s.Name][have[i]:])); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return list
}

// Tasks on several nodes find the files of their job, each attempt copies of its own: with
// folders, with the executable bit, and with what was sent, whatever others have written.
func TestStagedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.master()
	nodes := []*nodeOf{w.node(0, 2), w.node(1, 2)}
	f := w.frontend()
	left := t.TempDir()
	const text = `test ! -x in/data && bin/tool "$(cat in/data)$(cat in/sub/more)" > $1/$PIGEON_NODE-$PIGEON_TASK && echo changed >> in/data && echo changed >> bin/tool`
	list := w.stage(f, map[string]string{"bin/tool": "#!/bin/sh\necho \"read: $1\"\n", "in/data": "some ", "in/sub/more": "data", "in/same": "data", "empty": ""})
	list[slices.IndexFunc(list, func(s api.StagedFile) bool { return s.Name == "bin/tool" })].Executable = true
	r := script("staged", text, left)
	r.Stage, r.Tasks = list, slices.Repeat(r.Tasks, 40)
	id := w.submit(f, r)
	w.done(f, id)
	again := script("again", text, left)
	again.Stage = list // the content is there, and the files of the first job are as they were sent
	w.done(f, w.submit(f, again))
	on := map[string]bool{}
	found, err := filepath.Glob(left + "/*")
	if err != nil || len(found) < 40 {
		t.Fatalf("%d files, %v", len(found), err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil || string(text) != "read: some data\n" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		node, _, _ := strings.Cut(strings.TrimPrefix(path, left+"/"), "/")
		on[node[:strings.LastIndexByte(node, '-')]] = true
	}
	if len(on) != len(nodes) {
		t.Errorf("tasks ran on %d nodes, want %d", len(on), len(nodes))
	}
	for _, folder := range []string{f.cfg.Data} {
		kept, err := os.ReadDir(filepath.Join(folder, "staged"))
		if err != nil || len(kept) != 4 {
			t.Errorf("%d contents are kept for 5 files of which two are equal, %v", len(kept), err)
		}
	}
}

// A job that was accepted has its files after a restart of its frontend, also one that waits for
// its first node.
func TestStagedFilesSurviveTheirFrontend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	left := t.TempDir()
	r := script("staged", "cp data $1/data", left)
	r.Stage = w.stage(f, map[string]string{"data": "survives"})
	id := w.submit(f, r)
	f = w.restartFrontend(f)
	f = w.restartFrontend(f)
	if got, duplicate, err := f.Submit(t.Context(), r); err != nil || !duplicate || got != id {
		t.Errorf("the same job again: %q, %v, %v", got, duplicate, err)
	}
	w.node(0, 1)
	w.done(f, id)
	if text, err := os.ReadFile(filepath.Join(left, "data")); err != nil || string(text) != "survives" {
		t.Errorf("%q, %v", text, err)
	}
}

// A file that was changed on the frontend's disk reaches no task: the attempt fails, and its reason
// names the file and the frontend.
func TestTamperedStagedFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	r := script("staged", "cat data", "")
	r.Stage = w.stage(f, map[string]string{"data": "as it was sent"})
	id := w.submit(f, r)
	if err := os.WriteFile(filepath.Join(f.cfg.Data, "staged", r.Stage[0].SHA256), []byte("as it is now.."), 0o600); err != nil {
		t.Fatal(err)
	}
	w.node(0, 1)
	s, err := f.Wait(t.Context(), id, time.Minute)
	if err != nil || s.State != api.StateFailed || !strings.Contains(s.Reason, `its staged file "data" could not be fetched from its frontend at `+f.cfg.InternalListen) {
		t.Errorf("%+v, %v", s, err)
	}
}

// Files that have not arrived, or are beyond a limit of the frontend or of a node, are refused with
// the name of the limit.
func TestStagedFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 1, func(c *nodemonitor.Config) { c.StageCache = 5 })
	f := w.frontend(func(c *frontend.Config) { c.StageJobBytes, c.StageBytes = 10, 12 })
	refused := func(err error, problem api.Problem, text string) {
		t.Helper()
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != problem || !strings.Contains(err.Error(), text) || e.Next == "" {
			t.Errorf("%v, want %q", err, text)
		}
	}
	r := script("staged", "true", "")
	r.Stage = []api.StagedFile{stagedFile("data", "never sent")}
	_, _, err := f.Submit(t.Context(), r)
	refused(err, api.NotReady, `"data" has not arrived`)
	_, err = f.StageFiles(t.Context(), []api.StagedFile{stagedFile("a", "eleven long")})
	refused(err, api.Invalid, "stage_job_bytes")
	w.stage(f, map[string]string{"a": "ten bytes."})
	_, err = f.StageFiles(t.Context(), []api.StagedFile{stagedFile("a", "three")})
	refused(err, api.Busy, "more than the limit of 12")
	r = script("of the node", "true", "")
	r.Stage = w.stage(f, map[string]string{"a": "ten bytes."})
	s, err := f.Wait(t.Context(), w.submit(f, r), time.Minute)
	if err != nil || s.State != api.StateFailed || !strings.Contains(s.Reason, "keeps 5 at most (stage_cache)") {
		t.Errorf("%+v, %v", s, err)
	}
}

// A job that was accepted has its files after the loss of its frontend's machine and disk: a frontend
// with a replicated journal has them at the NATS servers, too.
func TestStagedFilesSurviveTheirMachine(t *testing.T) {
	t.Parallel()
	w := newShared(t)
	w.master()
	first := w.leads(w.begin())
	second := w.begin()
	w.standsBy(second, first)
	left := t.TempDir()
	r := script("staged", "cp in/data $1/data && cp empty $1/empty", left)
	large := strings.Repeat("survives ", 100_000) // more than one message
	r.Stage = w.stage(first, map[string]string{"in/data": large, "empty": ""})
	id := w.submit(first, r)
	first.process.Stop()
	if err := os.RemoveAll(first.cfg.Data); err != nil {
		t.Fatal(err)
	}
	w.leads(second)
	w.node(0, 1)
	w.done(second, id)
	if text, err := os.ReadFile(filepath.Join(left, "data")); err != nil || string(text) != large {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if text, err := os.ReadFile(filepath.Join(left, "empty")); err != nil || len(text) != 0 {
		t.Errorf("%q, %v", text, err)
	}
}
