package frontend_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// after is a job that starts after others, as api.ParseAfter reads them.
func (w *world) after(r *api.Request, others ...string) *api.Request {
	w.t.Helper()
	for _, text := range others {
		a, err := api.ParseAfter(text)
		if err != nil {
			w.t.Fatal(err)
		}
		r.After = append(r.After, a)
	}
	return r
}

// status returns the status of a job.
func (w *world) status(f *frontOf, id string) api.Status {
	w.t.Helper()
	s, err := f.Status(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// ended waits for the end of a job.
func (w *world) ended(f *frontOf, id string) api.Status {
	w.t.Helper()
	s, err := f.Wait(w.t.Context(), id, time.Minute)
	if err != nil || !s.State.Ended() {
		w.t.Fatalf("job %s: %+v, %v", id, s, err)
	}
	return s
}

// A job is held until the jobs after which it starts have ended, is shown as held with the
// reason, and then runs.
func TestAJobIsHeldUntilOthersHaveEnded(t *testing.T) {
	w := newWorld(t)
	m := w.master()
	w.node(0, 2)
	f := w.frontend()
	w.submit(f, sleeps("first", 1, time.Hour))
	w.submit(f, script("second", "exit 3", ""))
	w.ended(f, "second")
	w.submit(f, w.after(sleeps("third", 2, 0), "first:any", "second:any"))
	s := w.status(f, "third")
	if s.State != api.StateHeld || s.Reason != "held until job first has ended" || s.Released != 0 || s.Running != 0 {
		t.Errorf("%+v", s)
	}
	e, err := f.Explain(t.Context(), "third")
	if err != nil || len(e.Why) == 0 || e.Why[0] != "It is held until job first has ended." {
		t.Errorf("%+v, %v", e, err)
	}
	list, err := f.List(t.Context(), 0, "")
	if err != nil || list[0].State != api.StateHeld || list[0].Reason == "" {
		t.Errorf("%+v, %v", list, err)
	}
	if l := m.state(t).Launches; l != 2 {
		t.Errorf("%d launches while it was held", l)
	}
	if _, err := f.Cancel(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	s = w.done(f, "third")
	if s.Released < s.Submitted || s.Ended < s.Released || s.Reason != "" {
		t.Errorf("%+v", s)
	}
}

// A job fails with the reason when one after which it starts did not complete, and so does a
// job that starts after it.
func TestAJobFailsWithTheOneBeforeIt(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	w.submit(f, sleeps("first", 1, time.Hour))
	w.submit(f, w.after(sleeps("second", 1, 0), "first"))
	w.submit(f, w.after(sleeps("third", 1, 0), "second:ok"))
	w.submit(f, w.after(sleeps("cleanup", 1, 0), "second:any"))
	if _, err := f.Cancel(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"second": "job first, after which it was to start, was cancelled;", "third": "job second, after which it was to start, failed;"} {
		s := w.ended(f, id)
		if s.State != api.StateFailed || !strings.HasPrefix(s.Reason, want) || s.Failed != 0 {
			t.Errorf("%+v, want %q", s, want)
		}
		e, err := f.Explain(t.Context(), id)
		if err != nil || len(e.Why) == 0 || !strings.HasPrefix(e.Why[0], "It failed, and none of its tasks has: "+want) {
			t.Errorf("%+v, %v", e, err)
		}
	}
	w.done(f, "cleanup")
	w.submit(f, w.after(sleeps("late", 1, 0), "first"))
	if s := w.ended(f, "late"); s.State != api.StateFailed {
		t.Errorf("after a job that was cancelled long before: %+v", s)
	}
}

// Held jobs are cancelled like others, and count against the limits.
func TestHeldJobsAreCancelledAndCounted(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend(func(cfg *frontend.Config) { cfg.MaxTasks = 5 })
	w.submit(f, sleeps("first", 1, time.Hour))
	w.submit(f, w.after(sleeps("second", 3, 0), "first"))
	if _, _, err := f.Submit(t.Context(), sleeps("third", 2, 0)); err == nil || !strings.Contains(err.Error(), "4 tasks are unfinished") {
		t.Errorf("two tasks more than the limit: %v", err)
	}
	s, err := f.Cancel(t.Context(), "second")
	if err != nil || s.State != api.StateCancelled {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = f.Cancel(t.Context(), "second"); err != nil || s.State != api.StateCancelled {
		t.Errorf("once more: %+v, %v", s, err)
	}
	w.submit(f, sleeps("third", 2, 0))
}

// A job after one that is not known is refused, and nothing is accepted; a repetition is the
// same job.
func TestJobsAfterUnknownOnes(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	if _, _, err := f.Submit(t.Context(), w.after(sleeps("k", 1, 0), "nothing")); err == nil || !strings.Contains(err.Error(), `job "nothing"`) {
		t.Errorf("after a job that does not exist: %v", err)
	}
	w.submit(f, sleeps("first", 1, 0))
	w.submit(f, w.after(sleeps("k", 1, 0), "first"))
	if _, duplicate, err := f.Submit(t.Context(), w.after(sleeps("k", 1, 0), "first")); err != nil || !duplicate {
		t.Errorf("the same job again: %v, %v", duplicate, err)
	}
	if _, _, err := f.Submit(t.Context(), w.after(sleeps("k", 1, 0), "first:any")); err == nil || !strings.Contains(err.Error(), "list of jobs after which it starts") {
		t.Errorf("another job under its key: %v", err)
	}
}

// Held jobs outlive a restart of the frontend: those that are still held, those whose other job
// ended, and those that were released.
func TestHeldJobsOutliveARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	w.node(0, 2)
	f := w.frontend()
	w.submit(f, sleeps("open", 1, time.Hour))
	w.submit(f, sleeps("done", 1, 0))
	w.done(f, "done")
	w.submit(f, w.after(sleeps("held", 2, 0), "done", "open:any"))
	w.submit(f, w.after(sleeps("hopeless", 1, 0), "open"))
	w.submit(f, w.after(sleeps("released", 1, time.Hour), "done"))
	daemontest.Await(t, "the released job runs", func() bool { return m.state(t).Launches == 3 })
	before := w.status(f, "released")
	for range 2 {
		f = w.restartFrontend(f)
		for id, want := range map[string]string{"held": "held until job open has ended", "hopeless": "held until job open has completed"} {
			if s := w.status(f, id); s.State != api.StateHeld || s.Reason != want {
				t.Errorf("after a restart: %+v", s)
			}
		}
	}
	if s := w.status(f, "released"); s.Released != before.Released || s.State == api.StateHeld {
		t.Errorf("%+v, was %+v", s, before)
	}
	if _, err := f.Cancel(t.Context(), "open"); err != nil {
		t.Fatal(err)
	}
	w.done(f, "held")
	if s := w.ended(f, "hopeless"); s.State != api.StateFailed {
		t.Errorf("%+v", s)
	}
	if l := m.state(t).Launches; l != 5 {
		t.Errorf("%d launches of 5 tasks", l)
	}
}

// A chain of jobs runs in its order through restarts at any moment.
func TestAChainOfJobsThroughRestarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	const links = 12
	for i := range links {
		r := sleeps(fmt.Sprint("link-", i), 1, 20*time.Millisecond)
		if i > 0 {
			w.after(r, fmt.Sprint("link-", i-1))
		}
		w.submit(f, r)
	}
	for i := range 3 {
		daemontest.Await(t, "some have ended", func() bool {
			s, err := f.Wait(context.Background(), fmt.Sprint("link-", 3*i), time.Second)
			return err == nil && s.State.Ended()
		})
		f = w.restartFrontend(f)
	}
	ended := 0.0
	for i := range links {
		s := w.done(f, fmt.Sprint("link-", i))
		if s.Ended < ended || i > 0 && s.Released < ended {
			t.Errorf("link %d: %+v, the one before ended at %f", i, s, ended)
		}
		ended = s.Ended
	}
}

// A frontend that cannot read how the job has ended for which another one waits does not start, and names both.
func TestHeldByADamagedJob(t *testing.T) {
	if os.Getenv(leaky) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHeldByADamagedJob$") //nolint:gosec // this test
		cmd.Env = append(os.Environ(), leaky+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	w := newWorld(t)
	w.master()
	cfg := w.settings()
	j, rep, err := journal.Open(cfg.Data, journal.Options{Frontend: cfg.ID}, func(*journal.Job) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	ended, written := sched.NewJobID(rep.Scope, "ended"), make(chan error, 1)
	request := w.after(sleeps("held", 1, 0), "ended:any")
	request.Tasks[0].ID = "0"
	held := &journal.Submission{Job: sched.NewJobID(rep.Scope, "held"), Submitted: time.Now().UnixNano(), Request: *request, Fingerprint: request.Fingerprint()}
	if err := j.Append([]journal.Record{{Kind: journal.Accepted, Job: held.Job, Submission: held}}, func(err error) { written <- err }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-written, j.Close()); err != nil {
		t.Fatal(err)
	}
	damageEnded(t, cfg.Data, ended)
	f, err := frontend.New(cfg, daemontest.Log(t))
	if err == nil {
		err = f.Run(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), ended.String()) || !strings.Contains(err.Error(), `key "held"`) || !strings.Contains(err.Error(), "mv "+cfg.Data) {
		t.Error(err)
	}
	t.Log(err)
}

// damageEnded puts something unreadable in the place of what a journal keeps of an ended job.
func damageEnded(t *testing.T, folder string, id sched.JobID) {
	t.Helper()
	lock, err := store.Lock(store.HostFS(), folder)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(folder, lock, store.Options{MustExist: true, Broken: func(err error) { t.Error(err) }, Logger: daemontest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	var b store.Batch
	key := binary.BigEndian.AppendUint64([]byte{'e'}, id.Hi)
	b.Set(binary.BigEndian.AppendUint64(key, id.Lo), []byte{0xff})
	if err := errors.Join(s.Append(&b, true), s.Close(), lock.Release()); err != nil {
		t.Fatal(err)
	}
}
