package frontend_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// ran submits a job, of which no node runs a task, and reports that its tasks ran for so
// long. It returns the status from the time of its acceptance.
func (w *world) ran(f *frontOf, r *api.Request, elapsed time.Duration) api.Status {
	w.t.Helper()
	return w.ranSuspended(f, r, elapsed, 0)
}

// ranSuspended is ran for tasks that were suspended for a part of that time.
func (w *world) ranSuspended(f *frontOf, r *api.Request, elapsed, suspended time.Duration) api.Status {
	w.t.Helper()
	s, err := f.Status(w.t.Context(), w.submit(f, r))
	if err != nil {
		w.t.Fatal(err)
	}
	b := report(f, s.Job, 0, sched.Done)
	one := b.Items[0]
	one.Elapsed, one.Suspended = elapsed, suspended
	one.Msg.Attempt, b.Items = max(1, f.Submitted(s.Job).Attempt), nil
	for i := range r.Tasks {
		one.Msg.First = int32(i)
		one.Secret = f.Secret(one.Msg.AttemptID())
		b.Items = append(b.Items, one)
	}
	if _, err := w.peer(f.InternalAddr()).Reports(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.done(f, s.Job)
	return s
}

// reason returns the class of a job that has not ended, and how it was decided.
func (w *world) reason(f *frontOf, r *api.Request) (class, reason string) {
	w.t.Helper()
	e, err := f.Explain(w.t.Context(), w.submit(f, r))
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(strings.Join(e.Why, " "), "It is a "+e.Status.Class+" job: "+e.ClassReason) {
		w.t.Errorf("the sentences %q do not say %q", e.Why, e.ClassReason)
	}
	return e.Status.Class, e.ClassReason
}

// work is a job of alice under a name.
func work(name string, tasks int) *api.Request {
	r := sleeps("", tasks, 0)
	r.Owner, r.Name = "team/alice", name
	return r
}

// The first job of a work is undeclared; what its tasks took decides the class of the next,
// also after a restart, unless the setting says otherwise.
func TestClassesAreLearned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	if c, why := w.reason(f, work("train", 1)); c != "short" || !strings.Contains(why, `nothing is known yet of "train" of owner "team/alice"`) {
		t.Errorf("the first job is %s: %s", c, why)
	}
	w.ran(f, work("train", 5), 7*time.Second)
	check := func(when string, f *frontOf) {
		t.Helper()
		if c, why := w.reason(f, work("train", 1)); c != "long" || !strings.Contains(why, "estimate 7 s is above the cutoff 1 s, learned from one job") {
			t.Errorf("%s it is %s: %s", when, c, why)
		}
		if c, why := w.reason(f, work("test", 1)); c != "short" || !strings.Contains(why, "nothing is known") {
			t.Errorf("%s another work is %s: %s", when, c, why)
		}
		declared := work("train", 1)
		declared.Class = "short"
		if c, why := w.reason(f, declared); c != "short" || why != "declared by the submitter" {
			t.Errorf("%s a declared job is %s: %s", when, c, why)
		}
	}
	check("then", f)
	for label, want := range map[string]float64{"declared": 1, "learned": 1, "undeclared": 3, "overruled": 0, "defaulted": 0} {
		if n, ok := f.Metric(t, "pigeon_frontend_jobs_classified_total", label); !ok || n != want {
			t.Errorf("%g jobs are counted as %s, want %g", n, label, want)
		}
	}
	if n, _ := f.Metric(t, "pigeon_frontend_works_known", ""); n != 1 {
		t.Errorf("%g works are known", n)
	}
	f = w.restartFrontend(f)
	check("after a restart", f)
	f.cfg.Classes = "declared"
	f = w.restartFrontend(f)
	if c, why := w.reason(f, work("train", 1)); c != "short" || why != "default: neither class nor estimate was given" {
		t.Errorf("with classes: declared it is %s: %s", c, why)
	}
}

// The time in which a task was suspended does not count.
func TestSuspendedTimeIsNotLearned(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.ranSuspended(f, work("train", 3), 7*time.Second, 6500*time.Millisecond)
	if c, why := w.reason(f, work("train", 1)); c != "short" || !strings.Contains(why, "estimate 0.5 s") {
		t.Errorf("it is %s: %s", c, why)
	}
}

// A restart keeps class, estimate and reason of unfinished jobs.
func TestRestoredClasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.ran(f, work("train", 3), 7*time.Second)
	jobs := map[string]*api.Request{"learned": work("train", 1), "undeclared": work("test", 1), "declared": work("test", 1)}
	jobs["declared"].Estimate, jobs["declared"].EstimateSet = 3*time.Second, true
	want := map[string]sched.Message{}
	for name, r := range jobs {
		r.Key = name
		w.submit(f, r)
		want[name] = f.Submitted(name)
	}
	for name, c := range map[string]struct {
		class    sched.Class
		estimate sched.Time
		marks    sched.Marks
	}{
		"learned":    {sched.Long, 7 * sched.Second, 0},
		"undeclared": {sched.Short, 0, sched.Undeclared},
		"declared":   {sched.Long, 3 * sched.Second, 0},
	} {
		if m := want[name]; m.Class != c.class || m.Estimate != c.estimate || m.Marks&sched.Undeclared != c.marks {
			t.Errorf("%s: the core is told %s, %d ns, %s", name, m.Class, m.Estimate, m.Marks)
		}
	}
	f = w.restartFrontend(f)
	for name := range jobs {
		if m := f.Submitted(name); m.Class != want[name].Class || m.Estimate != want[name].Estimate || m.Marks != want[name].Marks {
			t.Errorf("%s: after a restart %s, %d ns, %s", name, m.Class, m.Estimate, m.Marks)
		}
	}
}

// An owner whose short tasks run past the cutoff has its short jobs queued as long, until
// honest tasks outweigh that. Other owners, and a work that is learned to be short, do not
// change.
func TestOverrunsQueueAsLong(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend(func(c *frontend.Config) { c.Classes = "declared" })
	short := func(owner, name string, tasks int) *api.Request {
		r := work(name, tasks)
		r.Owner, r.Class = owner, "short"
		return r
	}
	w.ran(f, short("team/alice", "brief", 9), 10*time.Millisecond)
	w.ran(f, short("team/alice", "liar", 20), 3*time.Second)
	c, why := w.reason(f, short("team/alice", "next", 1))
	if want := `queued as long: 40 of 60.1 short slot-seconds of owner "team/alice" in the last 10 min were past the cutoff of 1 s (66.6 %; limit 10 %), in 29 tasks; it would be short: declared by the submitter`; c != "long" || why != want {
		t.Errorf("the next job is %s: %s, want %s", c, why, want)
	}
	if m := f.Submitted(w.submit(f, short("team/alice", "", 1))); m.Class != sched.Long || m.Estimate != 0 {
		t.Errorf("the core is told %s, %d ns", m.Class, m.Estimate)
	}
	for _, r := range []*api.Request{short("team/bob", "next", 1), short("team/alice", "brief", 1), short("", "next", 1)} {
		if c, why := w.reason(f, r); c != "short" {
			t.Errorf("%s of %q is %s: %s", r.Name, r.Owner, c, why)
		}
	}
	if n, _ := f.Metric(t, "pigeon_frontend_jobs_classified_total", "overruled"); n != 2 {
		t.Errorf("%g jobs are counted as overruled", n)
	}
	if s := w.ran(f, short("team/alice", "honest", 700), 500*time.Millisecond); s.Class != "long" {
		t.Errorf("the honest job is %s", s.Class)
	}
	if c, why := w.reason(f, short("team/alice", "last", 1)); c != "short" {
		t.Errorf("after honest tasks it is %s: %s", c, why)
	}
}

// What was counted of the short tasks of owners survives a restart, in order or not; a file of it
// that is damaged is put aside and reported, and costs nothing that was learned.
func TestOverrunsSurviveARestart(t *testing.T) {
	frontend.SetSaveClasses(t, time.Millisecond)
	w := newWorld(t)
	w.master()
	f := w.frontend()
	short := func(owner, name string, tasks int) *api.Request {
		r := work(name, tasks)
		r.Owner, r.Class = owner, "short"
		return r
	}
	w.ran(f, short("team/alice", "liar", 20), 3*time.Second)
	path := filepath.Join(f.cfg.Data, "overruns")
	daemontest.Await(t, "it is saved while the frontend runs", func() bool {
		saved, err := os.ReadFile(path)
		l := classes.New(classes.Settings{Cutoff: sched.Second})
		return err == nil && l.LoadOverruns(sched.Time(time.Now().UnixNano()), saved) == nil &&
			l.Decide(sched.Time(time.Now().UnixNano()), &classes.Job{Owner: "team/alice", Declared: true}).Origin == classes.Overruled
	})
	f = w.restartFrontend(f)
	if c, why := w.reason(f, short("team/alice", "next", 1)); c != "long" || !strings.Contains(why, `queued as long: 40 of 60 short slot-seconds of owner "team/alice"`) {
		t.Errorf("after a restart it is %s: %s", c, why)
	}
	if c, why := w.reason(f, short("team/bob", "next", 1)); c != "short" {
		t.Errorf("after a restart a job of another owner is %s: %s", c, why)
	}
	f.process.Stop()
	if err := os.WriteFile(path, []byte("pigeon overruns 1\nand then nothing of the kind"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	damaged, err := frontend.New(f.cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	f = &frontOf{damaged, damaged.Scheduler(), f.cfg, daemontest.Run(t, damaged)}
	if c, why := w.reason(f, short("team/alice", "next", 1)); c != "short" {
		t.Errorf("with a damaged file it is %s: %s", c, why)
	}
	if c, why := w.reason(f, work("liar", 1)); c != "long" || !strings.Contains(why, "estimate 3 s") {
		t.Errorf("what was learned is lost with it: %s, %s", c, why)
	}
	if _, err := os.Stat(path + ".damaged"); err != nil {
		t.Error(err)
	}
	f.process.Stop()
	if text := log.String(); !strings.Contains(text, "what was counted of the short tasks of owners is lost") || !strings.Contains(text, "its checksum is wrong") {
		t.Errorf("the log is %s", text)
	}
}

// A damaged file is put aside and reported; the frontend begins with nothing learned, and
// saves what it learns.
func TestDamagedClasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.ran(f, work("train", 3), 7*time.Second)
	f.process.Stop()
	path := filepath.Join(f.cfg.Data, "classes")
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	saved[len(saved)/2] ^= 1
	if err := os.WriteFile(path, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	damaged, err := frontend.New(f.cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	f = &frontOf{damaged, damaged.Scheduler(), f.cfg, daemontest.Run(t, damaged)}
	if c, why := w.reason(f, work("train", 1)); c != "short" || !strings.Contains(why, "nothing is known") {
		t.Errorf("it is %s: %s", c, why)
	}
	if aside, err := os.ReadFile(path + ".damaged"); err != nil || string(aside) != string(saved) {
		t.Errorf("the damaged file is not put aside: %v", err)
	}
	w.ran(f, work("train", 3), 9*time.Second)
	f = w.restartFrontend(f)
	if text := log.String(); !strings.Contains(text, "what was learned of the classes of jobs is lost") || !strings.Contains(text, "its checksum is wrong") || !strings.Contains(text, "classes.damaged") {
		t.Errorf("the log is %s", text)
	}
	if c, why := w.reason(f, work("train", 1)); c != "long" || !strings.Contains(why, "estimate 9 s") {
		t.Errorf("then it is %s: %s", c, why)
	}
}

// What is learned is saved while the frontend runs, so that one that is killed has it; a
// file that cannot be written is reported, and harms nothing.
func TestClassesAreSavedMeanwhile(t *testing.T) {
	frontend.SetSaveClasses(t, time.Millisecond)
	w := newWorld(t)
	w.master()
	f := w.frontend()
	path := filepath.Join(f.cfg.Data, "classes")
	w.ran(f, work("train", 3), 7*time.Second)
	daemontest.Await(t, "it is saved", func() bool {
		saved, err := os.ReadFile(path)
		l := classes.New(classes.Settings{Cutoff: sched.Second})
		return err == nil && l.Load(saved) == nil && l.Works() == 1
	})
	if err := os.MkdirAll(filepath.Join(path+".new", "in the way"), 0o700); err != nil { // where the next one would be written
		t.Fatal(err)
	}
	w.ran(f, work("other", 3), 7*time.Second)
	f = w.restartFrontend(f)
	if c, why := w.reason(f, work("train", 1)); c != "long" || !strings.Contains(why, "estimate 7 s") {
		t.Errorf("it is %s: %s", c, why)
	}
	if c, why := w.reason(f, work("other", 1)); c != "short" || !strings.Contains(why, "nothing is known") {
		t.Errorf("what could not be saved is %s: %s", c, why)
	}
}

// Names that cannot be shown, or are too long, are refused with what to do.
func TestRefusedNames(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	for name, want := range map[string]string{strings.Repeat("a", 1<<20): "1048576 bytes", "two\nlines": "a control character", "\xff": "not valid UTF-8"} {
		_, _, err := f.Submit(t.Context(), work(name, 1))
		parts, ok := err.(*api.Error) //nolint:errorlint // as it is
		if !ok || !strings.Contains(parts.What, want) || parts.Subject == "" || parts.Tried == "" || parts.Next == "" || len(err.Error()) > 1000 {
			t.Errorf("%.20q: %.300v", name, err)
		}
	}
}
