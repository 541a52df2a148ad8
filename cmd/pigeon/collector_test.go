package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A job's files that are missing because nobody answers, because the user has interrupted the copy,
// or because their node is away, are missed: the exit status is not 0, whether the job runs or not.
// Those of a task that has not started are not.
func TestCollectMissesFiles(t *testing.T) {
	away := func(*fakeFrontend, context.CancelFunc) error {
		return &api.Error{Problem: api.NotReady, What: "connection refused", Subject: `node "n1"`}
	}
	for name, c := range map[string]struct {
		state  api.State
		task1  func(f *fakeFrontend, interrupt context.CancelFunc) error // called when its files are listed
		code   int
		copied string // the tasks whose files are there
		says   string
	}{
		"the frontend dies": {api.StateCompleted, func(f *fakeFrontend, _ context.CancelFunc) error { f.die(); return nil }, cli.ExitFailed, "0", "task 1: frontend at "},
		"Ctrl-C": {api.StateCompleted, func(f *fakeFrontend, interrupt context.CancelFunc) error {
			interrupt()
			<-f.released
			return nil
		}, cli.ExitInterrupted, "0", "interrupted; the files of job k are not complete"},
		"a node is away, the job has ended": {api.StateCompleted, away, cli.ExitFailed, "02", `pigeon: task 1: node "n1": connection refused`},
		"a node is away, the job runs":      {api.StateRunning, away, cli.ExitFailed, "02", `pigeon: task 1: node "n1": connection refused`},
		"a task has not started": {api.StateRunning, func(*fakeFrontend, context.CancelFunc) error {
			return &api.Error{Problem: api.NotReady, What: "it has not started yet", Subject: `task 1 of job "k"`}
		}, cli.ExitDone, "02", "2 files with 2 bytes copied"},
	} {
		for _, verb := range []string{"files k --to", "submit --key k --tasks 3 --wait --collect"} {
			if c.state == api.StateRunning && strings.HasPrefix(verb, "submit") {
				continue // it would wait for the end
			}
			t.Run(name+"/"+verb, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				f := startFake(t, &fakeFrontend{state: c.state, files: func(f *fakeFrontend, task int) error {
					if task == 1 {
						return c.task1(f, interrupt)
					}
					return nil
				}})
				to := t.TempDir()
				args := append(strings.Fields(verb), to, "--frontend", f.address, "--retry-for", "0s")
				if args[0] == "submit" {
					args = append(args, "--", "true")
				}
				var out, errs bytes.Buffer
				if code := run(ctx, args, strings.NewReader(""), &out, &errs); code != c.code || !strings.Contains(errs.String(), c.says) {
					t.Errorf("status %d, want %d and %q: %s", code, c.code, c.says, errs.String())
				}
				for _, task := range []string{"0", "1", "2"} {
					text, err := os.ReadFile(filepath.Join(to, task, "file"))
					if want := strings.Contains(c.copied, task); want != (err == nil) || want && string(text) != task {
						t.Errorf("the file of task %s is there: %v, with %q", task, err == nil, text)
					}
				}
			})
		}
	}
}

// Of a job that has ended, what may pass is waited for, once.
func TestCollectWaitsForWhatPasses(t *testing.T) {
	for args, want := range map[string]string{"files k": "3 files with 3 bytes copied", "files k --task 1": "1 file with 1 byte copied"} {
		asked := map[int]int{}
		f := startFake(t, &fakeFrontend{state: api.StateCompleted, files: func(_ *fakeFrontend, task int) error {
			if asked[task]++; task == 1 && asked[task] < 3 {
				return &api.Error{Problem: api.NotReady, What: "it is a standby"}
			}
			return nil
		}})
		code, _, errs := program(t, append(strings.Fields(args), "--to", t.TempDir(), "--frontend", f.address)...)
		if code != cli.ExitDone || asked[1] != 3 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d after %d questions: %s", args, code, asked[1], errs)
		}
	}
}

// Ctrl-C ends each form of the verb as it ends other verbs.
func TestFilesInterrupted(t *testing.T) {
	for _, args := range []string{"files k", "files k -o json", "files k --task 1"} {
		t.Run(args, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			f := startFake(t, &fakeFrontend{state: api.StateCompleted, files: func(f *fakeFrontend, task int) error {
				if task == 1 {
					interrupt()
					<-f.released
				}
				return nil
			}})
			var out, errs bytes.Buffer
			if code := run(ctx, append(strings.Fields(args), "--frontend", f.address), strings.NewReader(""), &out, &errs); code != cli.ExitInterrupted || errs.String() != "interrupted; the files of job k are not complete\n" {
				t.Errorf("status %d: %s", code, errs.String())
			}
		})
	}
}

// A closed terminal ends a copy as Ctrl-C does, and the part of a file that was copied is removed.
func TestFilesWhoseTerminalIsClosed(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("these tests were started to outlive their terminal (nohup), and so does what they start")
	}
	for _, verb := range []string{"files k --to", "submit --key k --wait --collect"} {
		t.Run(verb, func(t *testing.T) {
			to := t.TempDir()
			var f *fakeFrontend
			f = startFake(t, &fakeFrontend{state: api.StateCompleted, log: func(r *wire.LogRequest) wire.LogChunk {
				text := `{"path":"file","size":8}` + "\n"
				if r.Stream != wire.FileList {
					text = "12345678"
				}
				if r.Stream != wire.FileList && r.Offset == 4 {
					if parts, err := filepath.Glob(filepath.Join(to, ".pigeon-part-*")); err != nil || len(parts) != 1 {
						t.Errorf("in the midst of the file there are the parts %v, %v", parts, err)
					}
					hangUp(t)
					<-f.released
				}
				from := min(int(r.Offset), len(text))
				last := len(text)
				if r.Stream != wire.FileList {
					last = min(from+4, last)
				}
				return wire.LogChunk{Data: []byte(text[from:last]), Size: int64(len(text)), Ended: true}
			}})
			args := append(strings.Fields(verb), to, "--frontend", f.address)
			if args[0] == "submit" {
				args = append(args, "--", "true")
			}
			if code, _, errs := program(t, args...); code != cli.ExitInterrupted || !strings.Contains(errs, "interrupted; the files of job k are not complete\n") {
				t.Errorf("status %d: %s", code, errs)
			}
			if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
				t.Errorf("it leaves %v, %v", left, err)
			}
		})
	}
}

// The files of a task that is started again while they are read are those of one attempt.
func TestFilesOfATaskThatIsStartedAgain(t *testing.T) {
	texts := map[string][]string{ // by attempt, from 1 on
		wire.FileList:         {`{"path":"a","size":6}` + "\n", `{"path":"a","size":6}` + "\n"},
		wire.FilePrefix + "a": {"111111", "222222"},
	}
	for restartAt := range int64(8) { // answers before the second attempt is the latest
		t.Run(fmt.Sprint(restartAt), func(t *testing.T) {
			answers := int64(0)
			f := startFake(t, &fakeFrontend{state: api.StateRunning, log: func(r *wire.LogRequest) wire.LogChunk {
				attempt := r.Attempt
				if attempt == 0 {
					attempt = 1
					if answers >= restartAt {
						attempt = 2
					}
				}
				answers++
				text := texts[r.Stream][attempt-1]
				from := min(int(r.Offset), len(text))
				to := len(text)
				if r.Stream != wire.FileList {
					to = min(from+2, to)
				}
				return wire.LogChunk{Data: []byte(text[from:to]), Size: int64(len(text)), Attempt: attempt}
			}})
			to := t.TempDir()
			if code, _, errs := program(t, "files", "k", "--task", "0", "--to", to, "--frontend", f.address); code != cli.ExitDone {
				t.Fatalf("status %d: %s", code, errs)
			}
			want := "111111"
			if restartAt == 0 {
				want = "222222"
			}
			holds(t, want, to, "a")
		})
	}
}

// Two clients that copy into one folder at the same time do not disturb each other.
func TestFilesIntoOneFolder(t *testing.T) {
	to := t.TempDir()
	var f *fakeFrontend
	var other sync.Once
	f = startFake(t, &fakeFrontend{state: api.StateCompleted, log: func(r *wire.LogRequest) wire.LogChunk {
		text := `{"path":"` + r.Job + `","size":8}` + "\n"
		if r.Stream != wire.FileList {
			text = strings.Repeat(r.Job, 8)
		}
		if r.Job == "a" && r.Stream != wire.FileList && r.Offset > 0 { // in the midst of its file
			other.Do(func() {
				if code, _, errs := program(t, "files", "b", "--task", "0", "--to", to, "--frontend", f.address); code != cli.ExitDone {
					t.Errorf("status %d: %s", code, errs)
				}
			})
		}
		from := min(int(r.Offset), len(text))
		return wire.LogChunk{Data: []byte(text[from:min(from+4, len(text))]), Size: int64(len(text)), Attempt: 1}
	}})
	if code, _, errs := program(t, "files", "a", "--task", "0", "--to", to, "--frontend", f.address); code != cli.ExitDone {
		t.Errorf("status %d: %s", code, errs)
	}
	for _, job := range []string{"a", "b"} {
		holds(t, strings.Repeat(job, 8), to, job)
	}
	if list, err := os.ReadDir(to); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}
