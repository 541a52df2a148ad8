package frontend_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// crash stops a frontend and gives it the folder of its journal as it was when saved was
// made: a kill before anything since then reached the disk.
func (w *world) crash(f *frontOf, saved string) *frontOf {
	w.t.Helper()
	f.process.Stop()
	f.cfg.Data = saved
	return w.runFrontend(f.cfg)
}

// saved copies the journal of a frontend that runs.
func (w *world) saved(f *frontOf) string {
	w.t.Helper()
	dir := w.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(f.cfg.Data)); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// A job whose acceptance never reached the disk, and whose key is submitted again to the
// next process, runs under other numbers: no program sees a number that another one saw.
func TestKeyAgainAfterALostAcceptance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	saved, ran := w.saved(f), t.TempDir()
	job := func() *api.Request { return script("key", `echo $PIGEON_ATTEMPT > "$1/$$"; sleep 0.3`, ran) }
	w.submit(f, job())
	w.awaitContents(ran, 1)
	f = w.crash(f, saved)
	w.done(f, w.submit(f, job()))
	w.awaitContents(ran, 2)
	if got := contents(t, ran); !got["1"] || !got["10001"] || len(got) != 2 {
		t.Errorf("attempts ran as %v, want 1 and 10001", got)
	}
	log, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "key", Attempt: 10_001, Stream: "stdout", Limit: 1 << 10})
	if err != nil {
		t.Errorf("the output of attempt 10001: %+v, %v", log, err)
	}
}

// A frontend that has lost its journal takes nothing for the job of a key that its nodes and masters
// hold of an earlier job of that key: they end it, the slot is free, and the job that is submitted
// again is done. The numbers of its attempts are those of the earlier one.
func TestKeyAgainAfterALostJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 1)
	f, ran := w.frontend(), t.TempDir()
	job := func(then string) *api.Request {
		r := script("key", `echo $PIGEON_ATTEMPT > "$1/$$"; `+then, ran)
		r.Tasks = append(r.Tasks, r.Tasks[0])
		return r
	}
	for lost := range 3 {
		w.submit(f, job("exec sleep 3600")) // one of its tasks runs and one is queued
		w.awaitContents(ran, lost+1)
		f = w.crash(f, t.TempDir())
	}
	w.done(f, w.submit(f, job("true")))
	w.awaitContents(ran, 5)
	if got := contents(t, ran); !got["1"] || len(got) != 1 {
		t.Errorf("attempts ran as %v, want 1 of each", got)
	}
	if n, _ := f.Metric(t, disbelieved, ""); n != 0 {
		t.Errorf("%v reports were disbelieved, and nobody forged one", n)
	}
}

// awaitContents waits until n files of a folder have been written: a shell creates a file first, and its
// attempt may be killed before it writes.
func (w *world) awaitContents(folder string, n int) {
	w.t.Helper()
	daemontest.Await(w.t, fmt.Sprint("written files: ", n), func() bool {
		list, err := os.ReadDir(folder)
		if err != nil {
			w.t.Fatal(err)
		}
		written := slices.DeleteFunc(list, func(e os.DirEntry) bool {
			info, err := e.Info()
			return err != nil || info.Size() == 0
		})
		return len(written) >= n
	})
}

// contents returns the trimmed contents of the written files of a folder.
func contents(t *testing.T, folder string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		data, err := os.ReadFile(folder + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 0 {
			found[strings.TrimSpace(string(data))] = true
		}
	}
	return found
}

// A retry in a later life follows the numbers of the job's own life, and users read a
// count of tries, not these numbers.
func TestNumbersOfALaterLife(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 1)
	f := w.restartFrontend(w.frontend())
	ran := t.TempDir()
	r := script("retried", `echo $PIGEON_ATTEMPT > "$1/$$"; test $PIGEON_ATTEMPT = 10002`, ran)
	r.Retries = 3
	s := w.done(f, w.submit(f, r))
	if got := contents(t, ran); s.Attempts != 2 || !got["10001"] || !got["10002"] || len(got) != 2 {
		t.Errorf("%+v, attempts ran as %v", s, got)
	}
	f = w.restartFrontend(f)
	if again, err := f.Status(t.Context(), "retried"); err != nil || again.Attempts != 2 {
		t.Errorf("after a restart: %+v, %v", again, err)
	}
}

// A journal that was opened more often than attempts have numbers is refused, with
// advice.
func TestLivesAreBounded(t *testing.T) {
	if first, err := frontend.FirstAttempt("f", 214_748); err != nil || first != 2_147_470_001 {
		t.Errorf("the last life begins with %d, %v", first, err)
	}
	_, err := frontend.FirstAttempt("f", 214_749)
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Subject == "" || refusal.What == "" || refusal.Tried == "" || refusal.Next == "" {
		t.Errorf("got %v", err)
	}
}
