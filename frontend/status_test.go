package frontend_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestWait(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.submit(f, sleeps("job", 2, 0))
	if s, err := f.Wait(t.Context(), "job", time.Millisecond); err != nil || s.State != api.StateQueued || s.Tasks != 2 {
		t.Errorf("a wait that is over gives %+v, %v", s, err)
	}
	_, err := f.Wait(t.Context(), "unknown", time.Minute)
	var e *api.Error
	if !errors.As(err, &e) || e.Problem != api.NotFound {
		t.Errorf("waiting for an unknown job: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := f.Wait(gone, "job", time.Minute); err != nil || s.State.Ended() {
		t.Errorf("a caller that is gone: %+v, %v", s, err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { w.done(f, "job") })
	}
	w.node(0, 1)
	all.Wait()
}

// A stopping frontend answers waiting callers at once.
func TestWaitAtAStoppingFrontend(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.submit(f, sleeps("job", 2, 0))
	answers := make(chan error, 10)
	for range cap(answers) {
		go func() {
			_, err := f.Wait(t.Context(), "job", time.Hour)
			answers <- err
		}()
	}
	f.process.Stop()
	for range cap(answers) {
		var e *api.Error
		if err := <-answers; !errors.As(err, &e) || e.Problem != api.NotReady {
			t.Errorf("a waiter gets %v", err)
		}
	}
	_, err := f.Status(t.Context(), "job")
	var e *api.Error
	if !errors.As(err, &e) || e.Problem != api.NotReady || strings.Contains(e.Error(), "full") {
		t.Errorf("a frontend that is gone answers %v", err)
	}
}

// A list is the newest first, bounded, and as quick with a master away.
func TestList(t *testing.T) {
	w := newWorld(t)
	m := w.master()
	f := w.frontend()
	for i := range 30 {
		w.submit(f, sleeps(fmt.Sprintf("job-%02d", i), 1, 0))
	}
	m.process.Stop()
	list, err := f.List(t.Context(), 20, "")
	if err != nil || len(list) != 20 {
		t.Fatalf("%d jobs: %v", len(list), err)
	}
	if !slices.IsSortedFunc(list, func(a, b api.Status) int { return strings.Compare(b.Job, a.Job) }) || list[0].Job != "job-29" {
		t.Errorf("%+v", list)
	}
	if list, err = f.List(t.Context(), 0, ""); err != nil || len(list) != 30 {
		t.Errorf("%d jobs: %v", len(list), err)
	}
}

// Explain returns why a job waits, and why it ended as it did.
func TestExplain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	w.node(0, 2)
	blocker := sleeps("blocker", 2, time.Hour)
	w.submit(f, blocker)
	daemontest.Await(t, "both slots are busy", func() bool { s, err := f.Status(t.Context(), "blocker"); return err == nil && s.Running == 2 })
	long := sleeps("long", 3, 0)
	long.Class = "long"
	w.submit(f, long)
	w.submit(f, sleeps("short", 4, 0))
	for id, words := range map[string][]string{
		"long":    {"0 of 3 tasks have ended", "long job", "general workers"},
		"short":   {"0 of 4 tasks have ended", "short job", "all 2 workers", "4 of its tasks wait"},
		"blocker": {"2 run"},
	} {
		daemontest.Await(t, id+" is explained", func() bool {
			e, err := f.Explain(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(e.Why, " ")
			return len(e.Groups) == 1 && e.Groups[0].Reachable && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
		})
	}
	if _, err := f.Cancel(t.Context(), "blocker"); err != nil {
		t.Error(err)
	}
	w.done(f, "long")
	failed := &api.Request{Key: "failed", Backend: api.BackendExec, Tasks: []api.Task{{Payload: api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", "exit 3"}}}}}}
	if _, err := f.Wait(t.Context(), w.submit(f, failed), 30*time.Second); err != nil {
		t.Fatal(err)
	}
	for id, word := range map[string]string{"long": "It completed: all 3 tasks succeeded", "blocker": "It was cancelled (cancelled by its user)", "failed": "It failed: 1 of 1 task failed"} {
		e, err := f.Explain(t.Context(), id)
		if err != nil || len(e.Why) == 0 || !strings.Contains(e.Why[0], word) || e.Groups == nil {
			t.Errorf("%s: %+v, %v", id, e, err)
		}
		checkTimes(t, e)
		if id == "long" && len(e.Completed) != 3 {
			t.Errorf("of three tasks these completed: %+v", e.Completed)
		}
		if id == "failed" && (len(e.Tasks) != 1 || e.Tasks[0].Exit != 3 || e.Tasks[0].Node == "") {
			t.Errorf("the failed task is shown as %+v", e.Tasks)
		}
	}
	if _, err := f.Explain(t.Context(), "unknown"); err == nil {
		t.Error("an unknown job is explained")
	}
}

// checkTimes checks that the attempts of an ended job began and ended while it was there.
func checkTimes(t *testing.T, e *api.Explanation) {
	t.Helper()
	for _, a := range slices.Concat(e.Completed, e.Tasks) {
		if a.Node == "" || a.Started < e.Status.Submitted || a.Started+a.Seconds > e.Status.Ended+0.1 {
			t.Errorf("job %s, from %f to %f, has the attempt %+v", e.Status.Job, e.Status.Submitted, e.Status.Ended, a)
		}
	}
}

func TestTaskLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 1)
	f := w.frontend()
	r := &api.Request{Key: "job", Backend: api.BackendExec, Tasks: make([]api.Task, 2)}
	for i := range r.Tasks {
		r.Tasks[i].Payload = api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", fmt.Sprintf("echo out %d; echo err >&2", i)}}}
	}
	w.done(f, w.submit(f, r))
	for stream, want := range map[string]string{"stdout": "out 1\n", "stderr": "err\n"} {
		c, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "job", Task: 1, Stream: stream, Limit: 1000})
		if err != nil || string(c.Data) != want || !c.Ended {
			t.Errorf("%s: %+v, %v", stream, c, err)
		}
	}
	w.done(f, w.submit(f, sleeps("slept", 1, 0)))
	w.submit(f, sleeps("busy", 1, time.Hour))
	w.submit(f, sleeps("waits", 1, 0))
	for _, c := range []struct {
		request wire.LogRequest
		problem api.Problem
		message string // part of it
	}{
		{wire.LogRequest{Job: "unknown", Stream: "stdout"}, api.NotFound, `job "unknown": no such job`},
		{wire.LogRequest{Job: "job", Task: 2, Stream: "stdout"}, api.NotFound, "it has tasks 0 to 1, not 2"},
		{wire.LogRequest{Job: "job", Task: -1, Stream: "stdout"}, api.NotFound, "it has tasks 0 to 1, not -1"},
		{wire.LogRequest{Job: "job", Task: 1, Attempt: 7, Stream: "stdout"}, api.NotFound, `task 1 of job "job": this node has no logs of it`},
		{wire.LogRequest{Job: "slept", Stream: "stdout"}, api.NotFound, "only programs have outputs"},
		{wire.LogRequest{Job: "waits", Stream: "stdout"}, api.NotReady, "it has not started yet"},
	} {
		_, err := f.TaskLog(t.Context(), c.request)
		var e *api.Error
		if !errors.As(err, &e) || e.Problem != c.problem || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%+v: %v", c.request, err)
		}
	}
	if _, err := f.Cancel(t.Context(), "busy"); err != nil {
		t.Error(err)
	}
}

// The output of a task is found however many tasks of its job run; while a master does not answer,
// a task that runs in its group is not said to wait.
func TestLogOfOneOfManyTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.master()
	const tasks = 120 // more than an explanation lists
	w.node(0, tasks)
	f := w.frontend()
	w.submit(f, sleeps("many", tasks, time.Hour))
	daemontest.Await(t, "all run", func() bool { s, err := f.Status(t.Context(), "many"); return err == nil && s.Running == tasks })
	for task := range tasks {
		if _, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "many", Task: task, Stream: "stdout"}); err == nil || !strings.Contains(err.Error(), "only programs have outputs") {
			t.Fatalf("task %d: %v", task, err)
		}
	}
	m.process.Stop()
	if _, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "many", Task: 1, Stream: "stdout"}); err == nil || !strings.Contains(err.Error(), "the masters of some groups do not: 0") {
		t.Errorf("without the master: %v", err)
	}
}

// TestLogOfACancelledJob: what the tasks of a cancelled job wrote is found where they ran, and the
// explanation says where that was, also after a restart of the frontend. The task that waited ran nowhere.
func TestLogOfACancelledJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	var node string
	w.node(0, 1, func(c *nodemonitor.Config) { node = c.ID })
	f := w.frontend()
	folder := t.TempDir()
	r := script("job", `echo partial; touch "$1/runs"; sleep 3600`, folder)
	r.Tasks = append(r.Tasks, r.Tasks[0]) // waits
	w.submit(f, r)
	w.awaitFiles(folder, 1)
	if _, err := f.Cancel(t.Context(), "job"); err != nil {
		t.Fatal(err)
	}
	var e *api.Explanation
	daemontest.Await(t, "the end of the task that ran", func() (known bool) {
		var err error
		if e, err = f.Explain(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		return len(e.Tasks) > 0
	})
	if s := e.Tasks[0]; len(e.Tasks) != 1 || s.State != "cancelled" || s.Node != node || s.Task != 0 || s.Attempt != 1 || s.Seconds <= 0 || s.Started == 0 {
		t.Errorf("%+v", e.Tasks)
	}
	if c, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "job", Stream: "stdout", Limit: 100}); err != nil || string(c.Data) != "partial\n" || !c.Ended {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "job", Task: 1, Stream: "stdout", Limit: 100}); err == nil || !strings.Contains(err.Error(), "no node has reported that it ran") {
		t.Errorf("the task that waited: %v", err)
	}
	f = w.restartFrontend(f)
	want := e.Tasks
	for _, where := range []string{"in memory", "in the journal"} {
		if e, err := f.Explain(t.Context(), "job"); err != nil || !reflect.DeepEqual(e.Tasks, want) {
			t.Errorf("after a restart, with the job %s, %+v, %v, before %+v", where, e.Tasks, err, want)
		}
		if c, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "job", Stream: "stdout", Limit: 100}); err != nil || string(c.Data) != "partial\n" {
			t.Errorf("after a restart, with the job %s: %+v, %v", where, c, err)
		}
		if _, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "job", Task: 1, Stream: "stdout", Limit: 100}); err == nil || !strings.Contains(err.Error(), "it had not started") {
			t.Errorf("after a restart, with the job %s, the task that waited: %v", where, err)
		}
		f.LeaveMemory("job")
	}
}

// The outputs and reasons of attempts that were followed by others are found where they ran, also
// after a restart of the frontend.
func TestLogsOfEarlierAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 1)
	w.node(0, 1)
	f := w.frontend()
	r := script("job", `echo $PIGEON_NODE $PIGEON_ATTEMPT; mkdir "$1/$PIGEON_TASK" && exit 3; true`, t.TempDir())
	for len(r.Tasks) < 6 {
		r.Tasks = append(r.Tasks, r.Tasks[0])
	}
	r.Retries = 1
	w.submit(f, r)
	w.done(f, "job")
	checkEarlierAttempts(t, f, len(r.Tasks))
	checkEarlierAttempts(t, w.restartFrontend(f), len(r.Tasks))
}

// After a restart of the frontend, and when only the journal still has it, an ended job is explained as
// before, and shows when its attempts ran: those that completed, those that failed, and those that others
// followed.
func TestTimesOfAttemptsAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend()
	r := script("job", `sleep 0.01; test "$PIGEON_TASK" -ne 1`, t.TempDir())
	r.Retries = 1
	for len(r.Tasks) < 4 {
		r.Tasks = append(r.Tasks, r.Tasks[0])
	}
	w.submit(f, r)
	if s, err := f.Wait(t.Context(), "job", time.Minute); err != nil || s.State != api.StateFailed {
		t.Fatalf("%+v, %v", s, err)
	}
	attempts := func(f *frontOf) []api.TaskStatus {
		t.Helper()
		e, err := f.Explain(t.Context(), "job")
		if err != nil || len(e.Completed) != 3 || len(e.Tasks) != 2 {
			t.Fatalf("%+v, %v", e, err)
		}
		return append(e.Completed, e.Tasks...)
	}
	before := attempts(f)
	f = w.restartFrontend(f)
	restarted, err := f.Explain(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"in memory", "in the journal"} {
		after := attempts(f)
		for i, a := range before {
			b := after[i]
			if math.Abs(a.Seconds-b.Seconds) < 2e-6 { // microseconds are kept
				b.Seconds = a.Seconds
			}
			if a.Started == 0 || a != b {
				t.Errorf("after a restart, with the job %s, %+v, before %+v", where, b, a)
			}
		}
		f.LeaveMemory("job")
	}
	if e, err := f.Explain(t.Context(), "job"); err != nil || !reflect.DeepEqual(e, restarted) {
		t.Errorf("in the journal %+v, %v, in memory %+v", e, err, restarted)
	}
}

// checkEarlierAttempts checks what is known of the first attempts of a job's tasks.
func checkEarlierAttempts(t *testing.T, f *frontOf, tasks int) {
	t.Helper()
	e, err := f.Explain(t.Context(), "job")
	if err != nil || len(e.Tasks) != tasks {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, a := range e.Tasks {
		c, err := f.TaskLog(t.Context(), wire.LogRequest{Job: "job", Task: a.Task, Attempt: a.Attempt, Stream: "stdout", Limit: 100})
		if want := fmt.Sprintf("%s %d\n", a.Node, a.Attempt); err != nil || string(c.Data) != want {
			t.Errorf("task %d attempt %d wrote %q, want %q; %v", a.Task, a.Attempt, c.Data, want, err)
		}
		if hint := fmt.Sprintf("pigeon logs job --task %d --attempt %d", a.Task, a.Attempt); a.State != "retried" || a.Exit != 3 || !strings.Contains(a.Reason, hint) {
			t.Errorf("%+v, want %q", a, hint)
		}
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return a.StatusCode, string(text)
}

func TestHTTP(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 2)
	f := w.frontend(func(c *frontend.Config) { c.HTTP = "127.0.0.1:0" })
	job := sleeps("job", 3, time.Millisecond)
	job.Owner = "team/alice"
	w.done(f, w.submit(f, job))
	_, _, err := f.Submit(t.Context(), sleeps("none", 0, 0))
	if err == nil {
		t.Error("a job without tasks was accepted")
	}
	code, text := get(t, "http://"+f.HTTP()+"/status")
	var list []api.Status
	if err := json.Unmarshal([]byte(text), &list); err != nil || code != http.StatusOK || len(list) != 1 || list[0].Completed != 3 {
		t.Errorf("%d %s: %v", code, text, err)
	}
	if code, text := get(t, "http://"+f.HTTP()+"/readyz"); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	_, text = get(t, "http://"+f.HTTP()+"/metrics")
	for _, line := range []string{
		`pigeon_frontend_jobs_accepted_total{class="short"} 1`, `pigeon_frontend_jobs_ended_total{state="completed"} 1`, `pigeon_frontend_jobs_refused_total{reason="invalid"} 1`,
		"pigeon_frontend_unfinished_tasks 0", `pigeon_frontend_completion_seconds_count{class="short"} 1`, `pigeon_frontend_queueing_seconds_count{class="short"} 3`,
		"pigeon_frontend_messages_waiting 0", `pigeon_frontend_owner_jobs_accepted_total{owner="team/alice"} 1`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics have no %q", line)
		}
	}
}
