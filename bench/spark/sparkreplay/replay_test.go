package sparkreplay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/bench/spark/driver"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"go.uber.org/goleak"
)

// driverVariable makes this test a driver; its value is its behaviour.
const driverVariable = "PIGEON_TEST_DRIVER"

func TestMain(m *testing.M) {
	if how := os.Getenv(driverVariable); how != "" {
		fakeDriver(how)
	}
	goleak.VerifyTestMain(m)
}

// fakeDriver speaks as Spark's driver does. Its jobs take no longer than their
// longest task, without sleeping.
func fakeDriver(how string) {
	in := newLines(os.Stdin)
	fmt.Fprintln(os.Stderr, "driver with", strings.Join(os.Args[1:], " "))
	if how == "never ready" {
		os.Exit(5)
	}
	if how != "silent" {
		fmt.Fprintln(os.Stdout, `{"ready":2}`)
	}
	var jobs [][]string
	for line := range in {
		if line == driver.Replay {
			replayJobs(in, jobs, how)
		}
		jobs = append(jobs, strings.Fields(strings.TrimPrefix(line, "job ")))
	}
	os.Exit(3)
}

// replayJobs writes the records of jobs, and ends the program with its input.
func replayJobs(in <-chan string, jobs [][]string, how string) {
	for i, job := range jobs {
		switch {
		case how == "dies" && i == 1:
			fmt.Fprintln(os.Stderr, "java.lang.OutOfMemoryError")
			os.Exit(52)
		case how == "babbles":
			fmt.Fprintln(os.Stdout, "hello")
		case how == "hangs" && i == 1:
			<-in
			os.Exit(3)
		}
		fmt.Fprintln(os.Stdout, record(job, how == "fails" && i == 0))
	}
	fmt.Fprintln(os.Stdout, `{"seconds":0.5}`)
	<-in
	os.Exit(0)
}

// record is the answer of a driver for a job that started when it was due, waited 2 ns and
// then ran all tasks at once.
func record(job []string, failed bool) string {
	var line, due, longest int64
	fmt.Sscan(job[0], &line)
	fmt.Sscan(job[2], &due)
	s := driver.Record{Job: int(line), Submitted: due + 1, State: driver.Completed}
	if failed {
		s.State, s.Reason = "failed", "by request"
	}
	for _, duration := range job[4:] {
		var ran int64
		fmt.Sscan(duration, &ran)
		longest = max(longest, ran)
		s.Ran, s.Reported = append(s.Ran, ran), append(s.Reported, ran+2)
		s.Attempts, s.Executors = append(s.Attempts, 1), append(s.Executors, "7")
	}
	s.Completion = longest + 3
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// newLines returns a channel of the lines read, closed at their end.
func newLines(f *os.File) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		text := make([]byte, 1)
		var line []byte
		for {
			if n, err := f.Read(text); n == 0 || err != nil {
				return
			}
			if text[0] == '\n' {
				lines <- string(line)
				line = line[:0]
				continue
			}
			line = append(line, text[0])
		}
	}()
	return lines
}

// jobs are five, in a trace whose arrivals do not begin at 0.
func jobs(t *testing.T) *workload.Workload {
	t.Helper()
	w := &workload.Workload{Name: "five"}
	for i := range 5 {
		w.Jobs = append(w.Jobs, workload.Job{
			Line: i + 1, Arrival: int64(1000 + 10*i), Estimate: 50, Durations: []int64{50, 100}, DeclaredLong: i == 3, TrueLong: i == 3,
		})
	}
	return w
}

// programs are drivers that behave as named, in turn.
func programs(t *testing.T, hows ...string) []Program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var list []Program
	for _, how := range hows {
		list = append(list, Program{Place: "this machine", Argv: []string{self}, Env: append(os.Environ(), driverVariable+"="+how)})
	}
	return list
}

func options(t *testing.T, drivers int, hows ...string) Options {
	t.Helper()
	return Options{Drivers: drivers, Programs: programs(t, hows...), Master: func(k int) string { return fmt.Sprint("m", k) }, Within: time.Minute}
}

func TestDriversShareTheWorkload(t *testing.T) {
	w := jobs(t)
	o := options(t, 2, "works")
	var ready []int
	o.Waiting = func(n, _ int) { ready = append(ready, n) }
	o.Died = func(err error) { t.Error(err) }
	m, err := Run(t.Context(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(ready) != "[1 2]" || m.Outcome.Facts.Partial || m.Outcome.Facts.Attempts != 10 || m.Outcome.Facts.Busy != 5*150 || m.Outcome.Facts.Mode != "live" {
		t.Errorf("ready %v, %+v", ready, m.Outcome.Facts)
	}
	for i, job := range m.Outcome.Jobs {
		if at := int64(10*i + 1); !job.Ended || job.Failed || job.Arrival != at || job.End != at+103 {
			t.Errorf("job %d: %+v", i, job)
		}
	}
	for task, waited := range m.Outcome.Queueing {
		if waited != 2 {
			t.Errorf("task %d waited %d", task, waited)
		}
	}
	checkHistory(t, m)
}

// checkHistory: every task's life is there, in order of time, at the driver whose
// job it is.
func checkHistory(t *testing.T, m *replay.Measured) {
	t.Helper()
	var text bytes.Buffer
	if err := replay.WriteHistory(&text, m.Events); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	last := int64(0)
	for _, e := range m.Events {
		if e.Time < last {
			t.Errorf("%+v comes after %d", e, last)
		}
		last = e.Time
		seen[e.Event+" at "+e.Where]++
	}
	want := map[string]int{}
	for driver, n := range []int{3, 2} {
		name := fmt.Sprint("driver ", driver)
		want[measure.Submitted+" at "+name], want[measure.Completed+" at "+name] = n, n
		want[measure.Started+" at "+name+", executor 7"], want[measure.Reported+" at "+name+", executor 7"] = 2*n, 2*n
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("the history holds %v, want %v", seen, want)
	}
}

func TestADriverThatDiesIsReported(t *testing.T) {
	o := options(t, 2, "works", "dies")
	var died []error
	o.Died = func(err error) { died = append(died, err) }
	m, err := Run(t.Context(), jobs(t), o)
	if err != nil {
		t.Fatal(err)
	}
	ended := ""
	for _, job := range m.Outcome.Jobs {
		ended += fmt.Sprintf("%t ", job.Ended)
	}
	if !m.Outcome.Facts.Partial || ended != "true true true false true " {
		t.Errorf("ended: %s, %+v", ended, m.Outcome.Facts)
	}
	if len(died) != 1 || !contains(died[0], "driver 1 on this machine ended (exit status 52) with 1 of its 2 jobs unfinished", "OutOfMemoryError") {
		t.Errorf("died: %v", died)
	}
}

func TestAFailedJobIsNoDeath(t *testing.T) {
	o := options(t, 1, "fails")
	o.Died = func(err error) { t.Error(err) }
	m, err := Run(t.Context(), jobs(t), o)
	if err != nil || m.Outcome.Facts.Partial || !m.Outcome.Jobs[0].Failed || m.Outcome.Jobs[1].Failed {
		t.Errorf("%v, %+v", err, m)
	}
}

func TestNothingRunsUnlessAllAreReady(t *testing.T) {
	m, err := Run(t.Context(), jobs(t), options(t, 2, "works", "never ready"))
	if m != nil || !contains(err, "no job was submitted", "driver 1 on this machine ended (exit status 5) before it was ready", "its log ends:\n  driver with --master m1") {
		t.Error(err)
	}
}

// TestADriverThatIsNotOurs is killed, and its output is ignored.
func TestADriverThatIsNotOurs(t *testing.T) {
	o := options(t, 2, "works", "babbles")
	var died []error
	o.Died = func(err error) { died = append(died, err) }
	m, err := Run(t.Context(), jobs(t), o)
	if err != nil || !m.Outcome.Facts.Partial || m.Outcome.Jobs[1].Ended || len(died) != 1 || !contains(died[0], "driver 1", "wrote what is no answer", "hello") {
		t.Errorf("%v, died %v, %+v", err, died, m)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	o := options(t, 2, "works")
	o.Programs = append(o.Programs, Program{Place: "nowhere", Argv: []string{"/nonesuch"}})
	if _, err := Run(t.Context(), jobs(t), o); !contains(err, "nowhere", "driver 1 was not started", "/nonesuch") {
		t.Error(err)
	}
}

// TestEndedEarly: jobs that had ended count, and no driver is left, at whatever time
// the replay is ended.
func TestEndedEarly(t *testing.T) {
	t.Run("before all are ready", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o := options(t, 2, "works", "silent")
		o.Waiting = func(int, int) { cancel() }
		if m, err := Run(ctx, jobs(t), o); m != nil || !contains(err, "no job was submitted", "1 of 2 drivers were ready") {
			t.Errorf("%v, %v", m, err)
		}
	})
	t.Run("under way", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o := options(t, 2, "works", "hangs")
		o.Progress = func(p replay.Progress) {
			if p.Ended == 4 {
				cancel()
			}
		}
		m, err := Run(ctx, jobs(t), o)
		if err != nil || !m.Outcome.Facts.Partial || m.Outcome.Jobs[3].Ended || !m.Outcome.Jobs[4].Ended {
			t.Errorf("%v, %+v", err, m)
		}
	})
	t.Run("its cluster failed", func(t *testing.T) {
		failed := make(chan error, 1)
		failed <- fmt.Errorf("a master is gone")
		o := options(t, 1, "hangs")
		o.Failed = failed
		if _, err := Run(t.Context(), jobs(t), o); !contains(err, "a master is gone") {
			t.Error(err)
		}
	})
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		drivers, jobs int
		want          string
	}{{0, 5, "0 drivers are outside 1 to 256"}, {257, 500, "257 drivers"}, {6, 5, "6 drivers cannot share 5 jobs"}} {
		if err := (&Options{Drivers: c.drivers}).Check(c.jobs); !contains(err, c.want, "nothing was started", "; ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestSlots(t *testing.T) {
	for _, c := range []struct {
		groups      []int
		asked, want int
	}{{[]int{4, 4}, 0, 4}, {[]int{60, 40, 20}, 0, 20}, {[]int{60, 40, 20}, 10, 10}, {[]int{3, 4}, 0, 1}, {[]int{4, 4}, 3, 0}, {[]int{4}, -1, 0}} {
		got, err := Slots(c.groups, c.asked)
		if got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
}

func contains(err error, parts ...string) bool {
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			return false
		}
	}
	return err != nil
}

// TestRecordsAreChecked: a record of a job that the driver does not have, or has ended,
// is refused.
func TestRecordsAreChecked(t *testing.T) {
	w := jobs(t)
	good := driver.Record{Job: 1, State: driver.Completed, Reported: []int64{5, 6}, Ran: []int64{4, 9}, Attempts: []int{1, 1}, Executors: []string{"0", "0"}}
	o, d := newOutcome(w), &member{jobs: []int{0, 2}}
	if err := o.add(d, &good); err != nil || o.out.Queueing[0] != 1 || o.out.Queueing[1] != 0 {
		t.Errorf("%v, queueing %v", err, o.out.Queueing)
	}
	for _, c := range []struct {
		change func(*driver.Record)
		want   string
	}{
		{func(*driver.Record) {}, "two records"},
		{func(r *driver.Record) { r.Job = 2 }, "not its own"},
		{func(r *driver.Record) { r.Job = 9 }, "not its own"},
		{func(r *driver.Record) { r.Job, r.Reported = 3, []int64{1} }, "1 tasks of the job of line 3, which has 2"},
	} {
		r := good
		c.change(&r)
		if err := o.add(d, &r); !contains(err, c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
