package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// onFS returns the options of a journal whose store lies on the file system and
// begins a table after a few records.
func onFS(fs vfs.FS) Options {
	return Options{FS: fs, openStore: func(dir string, lock *store.DirLock, o store.Options) (backing, error) {
		o.MemtableBytes = 64 << 10
		return openDisk(dir, lock, o)
	}}
}

// child runs in a process that a test has started.
func child(mode, dir string) error {
	switch mode {
	case "append":
		return childAppend(dir)
	case "hold":
		return childHold(dir)
	case "open full":
		return childOpenFull(dir)
	case "merge":
		return childMerge(dir)
	case "faults":
		return childFaults(dir)
	default:
		return childFull(dir, strings.TrimPrefix(mode, "full "))
	}
}

// childAppend accepts jobs and ends tasks as fast as it can, and prints each
// acknowledgement, until it is killed.
func childAppend(dir string) error {
	j, rep, _, err := tryOpen(dir, Options{})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	out := bufio.NewWriter(os.Stdout)
	report := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, what)
		if err := out.Flush(); err != nil {
			os.Exit(1) // the parent has ended
		}
	}
	failed := make(chan error, 8)
	for w := range 8 {
		go func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("%d.%d.%d", rep.Incarnation, w, n)
				if err := appendWait(j, accept(key, 2)); err != nil {
					failed <- err
					return
				}
				report("accepted " + key)
				if err := appendWait(j, taskEnd(key, 1)); err != nil {
					failed <- err
					return
				}
				report("ended " + key)
			}
		}()
	}
	return <-failed
}

func childHold(dir string) error {
	j, _, _, err := tryOpen(dir, Options{})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, j.Close())
}

// childFull accepts one job, lets writes to files of the given kind fail, and prints
// the answers to the next jobs.
func childFull(dir, ext string) error {
	var full errorfs.Toggle
	full.Injector = errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ext) && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate) {
			return syscall.ENOSPC
		}
		return nil
	})
	j, _, _, err := tryOpen(dir, onFS(errorfs.Wrap(vfs.Default, &full)))
	if err != nil {
		return err
	}
	if err := appendWait(j, accept("before", 1)); err != nil {
		return err
	}
	full.On()
	for ext == ".sst" && appendWait(j, taskEnd("before", 0)) == nil { // until the store begins a table
	}
	for i := range 3 {
		fmt.Fprintln(os.Stdout, "answered", appendWait(j, accept(fmt.Sprint("after", i), 1)))
	}
	fmt.Fprintln(os.Stdout, "closed", j.Close())
	return nil
}

// childOpenFull opens a journal on a disk without space for a table.
func childOpenFull(dir string) error {
	full := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".sst") && op.Kind == errorfs.OpCreate {
			return syscall.ENOSPC
		}
		return nil
	})
	err := refusal(dir, onFS(errorfs.Wrap(vfs.Default, full)))
	fmt.Fprintln(os.Stdout, "answered", err)
	return nil
}

func startChild(t *testing.T, mode, dir string) (*exec.Cmd, *bufio.Scanner, io.Closer) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe, dir)
	cmd.Env = append(os.Environ(), childMode+"="+mode)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out), in
}

// Killed at any moment, a journal holds every job and every result that it had
// acknowledged, and is not damaged.
func TestKilledProcessKeepsWhatItAcknowledged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	rng := rand.New(rand.NewPCG(7, 7))
	accepted, ended := map[string]bool{}, map[string]bool{}
	for round := range rounds {
		cmd, out, _ := startChild(t, "append", dir)
		for n := 1 + rng.IntN(400); out.Scan(); {
			what, key, _ := strings.Cut(out.Text(), " ")
			switch what {
			case "accepted":
				accepted[key] = true
			case "ended":
				ended[key] = true
			default:
				t.Fatalf("round %d: %s", round, out.Text())
			}
			if n--; n == 0 {
				must(t, cmd.Process.Kill())
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
	}
	j, rep, got := open(t, dir, Options{})
	must(t, j.Close())
	for _, s := range got.subs {
		delete(accepted, s.Request.Key)
	}
	for key, events := range got.events {
		if len(events) == 1 && events[0].Kind == TaskEnded && events[0].First == 1 {
			delete(ended, key)
		}
	}
	if len(accepted)+len(ended) > 0 || rep.Incarnation != uint64(rounds+1) {
		t.Fatalf("acknowledged and lost: jobs %v, results %v; report %v", accepted, ended, rep)
	}
	if rep.Jobs < rounds {
		t.Fatalf("only %d jobs were tried in %d rounds", rep.Jobs, rounds)
	}
}

func TestLockedByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd, out, in := startChild(t, "hold", dir)
	if !out.Scan() || out.Text() != "ready" {
		t.Fatalf("the child printed %q", out.Text())
	}
	err := refusal(dir, Options{})
	e := fourParts(t, err)
	if want := fmt.Sprintf("process %d ", cmd.Process.Pid); !strings.Contains(e.What, want) || !strings.Contains(e.What, store.LockFile) || !strings.Contains(e.Subject, dir) {
		t.Fatalf("the error does not name %q, the lock file and the folder: %v", want, e)
	}
	must(t, in.Close())
	must(t, cmd.Wait())
	j, _, _ := open(t, dir, Options{})
	err = refusal(dir, Options{})
	if e := fourParts(t, err); !strings.Contains(e.What, fmt.Sprintf("process %d ", os.Getpid())) {
		t.Fatalf("a second opening in one process returns %v", e)
	}
	must(t, j.Close())
}

// A full disk breaks the journal for good: every record gets the error, nothing is
// acknowledged, and once there is space again a new process finds everything that was
// acknowledged.
func TestDiskFull(t *testing.T) {
	for _, ext := range []string{".log", ".sst"} {
		t.Run(ext, func(t *testing.T) {
			dir := t.TempDir()
			cmd, out, _ := startChild(t, "full "+ext, dir)
			lines := 0
			for ; out.Scan(); lines++ {
				if s := out.Text(); !strings.Contains(s, "no space left on device") || !strings.Contains(s, "make room") {
					t.Errorf("the child printed %q", s)
				}
			}
			must(t, cmd.Wait())
			if lines != 4 {
				t.Fatalf("the child printed %d lines, not 4", lines)
			}
			cmd, out, _ = startChild(t, "open full", dir)
			if !out.Scan() || !strings.Contains(out.Text(), "no space left on device") || !strings.Contains(out.Text(), "make room") {
				t.Fatalf("opening on the full disk prints %q", out.Text())
			}
			must(t, cmd.Wait())
			j, _, got := open(t, dir, Options{})
			must(t, appendWait(j, accept("now", 1)))
			must(t, j.Close())
			if len(got.subs) != 1 || got.subs[0].Request.Key != "before" {
				t.Fatalf("got %v", got.keys())
			}
		})
	}
}
