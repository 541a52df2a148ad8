package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/staging"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// slowFrontend answers with a content once it is told to.
type slowFrontend struct {
	content string
	asked   chan struct{} // receives with each question
	answer  chan struct{} // closed
}

func (f slowFrontend) FilePiece(ctx context.Context, _ string, offset int64, _ int) (wire.Piece, error) {
	select {
	case f.asked <- struct{}{}:
	case <-ctx.Done():
		return wire.Piece{}, ctx.Err()
	}
	select {
	case <-f.answer:
		return wire.Piece{Data: []byte(f.content[offset:]), Size: int64(len(f.content))}, nil
	case <-ctx.Done():
		return wire.Piece{}, ctx.Err()
	}
}

func newSlowFrontend() slowFrontend {
	return slowFrontend{"the data\n", make(chan struct{}), make(chan struct{})}
}

// stagedNode is a node that fetches from a frontend.
func stagedNode(t *testing.T, f slowFrontend) *node {
	t.Helper()
	n := newNode(t, guard.Options{})
	cache, err := staging.Open(staging.Config{Folder: filepath.Join(n.root, "staged"), Bytes: 1000, Patience: time.Hour, Dial: func(string) (wire.FileKeeper, error) { return f, nil }})
	if err != nil {
		t.Fatal(err)
	}
	n.cfg.Staged = cache
	return n
}

// stagedTask is a task that shows its file.
func stagedTask(k int, f slowFrontend) backend.Task {
	h := sha256.Sum256([]byte(f.content))
	job := task(k, "cat", "in/data")
	job.Payload.Stage = []api.StagedFile{{Name: "in/data", SHA256: hex.EncodeToString(h[:]), Size: int64(len(f.content))}}
	return job
}

// start starts a task whose end goes into the channel.
func (n *node) start(k backend.Task) <-chan backend.Result {
	end := make(chan backend.Result, 1)
	n.Start(k, func(r backend.Result) { end <- r })
	return end
}

// While files are being brought other tasks run; then the task finds its files.
func TestTasksWithStagedFiles(t *testing.T) {
	f := newSlowFrontend()
	n := stagedNode(t, f)
	began := make(chan struct{}, 2)
	slow := stagedTask(0, f)
	slow.Began = func() { began <- struct{}{} }
	end := n.start(slow)
	<-f.asked
	if r := n.run(t, task(1, "true")); r.Outcome != sched.Done {
		t.Errorf("%+v", r)
	}
	if len(began) > 0 {
		t.Error("it is said to have begun without its files")
	}
	close(f.answer)
	if r := <-end; r.Outcome != sched.Done || r.Started.IsZero() {
		t.Fatalf("%+v", r)
	}
	if len(began) != 1 {
		t.Errorf("its beginning was reported %d times", len(began))
	}
	if got := n.output(t, 0); got != f.content {
		t.Errorf("%q", got)
	}
	if r := n.run(t, stagedTask(2, f)); r.Outcome != sched.Done {
		t.Errorf("with the file here: %+v", r)
	}
}

// An attempt that waits for its files can be killed, and one that is suspended then starts when it
// is resumed, not before.
func TestKillAndSuspendWhileFilesAreBrought(t *testing.T) {
	f := newSlowFrontend()
	n := stagedNode(t, f)
	killed := n.start(stagedTask(0, f))
	<-f.asked
	n.Kill(id(0))
	if r := <-killed; r.Outcome != sched.Killed || !r.Started.IsZero() {
		t.Errorf("%+v", r)
	}
	suspended := n.start(stagedTask(1, f))
	<-f.asked
	for _, do := range []func(sched.AttemptID) error{n.Suspend, n.Suspend, n.Resume, n.Suspend} {
		if err := do(id(1)); err != nil {
			t.Fatal(err)
		}
	}
	close(f.answer)
	if r := n.run(t, stagedTask(2, f)); r.Outcome != sched.Done { // its file is the same: it is there now
		t.Errorf("%+v", r)
	}
	select {
	case r := <-suspended:
		t.Fatalf("a suspended one ran: %+v", r)
	default:
	}
	if err := n.Resume(id(1)); err != nil {
		t.Fatal(err)
	}
	if r := <-suspended; r.Outcome != sched.Done {
		t.Errorf("%+v", r)
	}
}

// A backend that is closed kills what waits for files; one that leaves what runs to the next
// process gives it back, because that process would not know it.
func TestEndsWhileFilesAreBrought(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*node)
		want sched.Outcome
	}{
		"close": {func(n *node) { n.Close() }, sched.Killed},
		"leave": {func(n *node) { n.Leave() }, sched.Yielded},
	} {
		f := newSlowFrontend()
		n := stagedNode(t, f)
		end := n.start(stagedTask(0, f))
		<-f.asked
		c.end(n)
		select {
		case r := <-end:
			if r.Outcome != c.want || !r.Started.IsZero() {
				t.Errorf("%s: %+v", name, r)
			}
		default:
			t.Errorf("%s: its end was not reported", name)
		}
	}
}

// What the files are not fails the attempt, with four parts.
func TestStagedFilesThatAreNotRight(t *testing.T) {
	f := newSlowFrontend()
	n := stagedNode(t, f)
	wrong := stagedTask(0, f)
	wrong.Payload.Stage[0].SHA256 = strings.Repeat("0", 64)
	end := n.start(wrong)
	close(f.answer)
	<-f.asked
	if r := <-end; r.Outcome != sched.Failed || !strings.Contains(r.Reason, `its staged file "in/data" could not be fetched`) || !strings.Contains(r.Reason, "have the SHA-256") || !strings.Contains(r.Reason, `part-a`) {
		t.Errorf("%+v", r)
	}
	elsewhere := stagedTask(1, f)
	elsewhere.Payload.Exec.Dir = t.TempDir()
	if r := n.run(t, elsewhere); r.Outcome != sched.Failed || !strings.Contains(r.Reason, "no folder to put them into") {
		t.Errorf("%+v", r)
	}
}

// What is left of an attempt are the files that it wrote: the copies of staged files that are as they were sent are
// gone before its end is reported, and count for nothing.
func TestUnchangedCopiesAreNotLeft(t *testing.T) {
	f := newSlowFrontend()
	close(f.answer)
	n := stagedNode(t, f)
	go func() { <-f.asked }()
	job := stagedTask(0, f)
	for _, name := range []string{"deep/er/same", "rewritten", "touched", "renamed", "linked", "replaced", "mode", "gone"} {
		job.Payload.Stage = append(job.Payload.Stage, api.StagedFile{Name: name, SHA256: job.Payload.Stage[0].SHA256, Size: int64(len(f.content))})
	}
	job.Payload.Exec.Argv = []string{"sh", "-c", `
		: > a; until : > b; test b -nt a; do :; done; rm a b # the clock of the disk has advanced
		printf 'THE DATA\n' > rewritten
		printf 'THE DATA\n' > touched; touch -r in/data touched
		mv renamed result; ln linked also; cp -p in/data other; mv other replaced; chmod +x mode; rm gone`}
	if r := n.run(t, job); r.Outcome != sched.Done {
		t.Fatalf("%+v", r)
	}
	c, err := n.logs.List(id(0), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for d := json.NewDecoder(bytes.NewReader(c.Data)); d.More(); {
		var file api.TaskFile
		if err := d.Decode(&file); err != nil {
			t.Fatal(err)
		}
		left = append(left, file.Path)
	}
	if want := []string{"also", "linked", "mode", "replaced", "result", "rewritten", "touched"}; !slices.Equal(left, want) {
		t.Errorf("it left %q, want %q", left, want)
	}
	if r := n.run(t, stagedTask(1, f)); r.Outcome != sched.Done {
		t.Fatalf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(n.root, id(1).Job.String(), "1.2")); err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(filepath.Join(n.root, id(1).Job.String(), "1.2")); err != nil || len(names) != 0 {
		t.Errorf("an attempt that changed nothing left %v, %v", names, err)
	}
}
