package journal

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// childMode names what a child process of a test does.
const childMode = "JOURNAL_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := child(mode, os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stdout, "error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, natsservertest.LeftBehind())
}

func jobID(key string) sched.JobID { return sched.NewJobID("f0", key) }

func submission(key string, tasks int) *Submission {
	s := &Submission{Job: jobID(key), Why: "declared by the submitter", Submitted: 1, Request: api.Request{App: "app", User: "user", Key: key, Backend: api.BackendSleep, Class: "short"}}
	s.Request.Tasks = make([]api.Task, tasks)
	for i := range s.Request.Tasks {
		s.Request.Tasks[i] = api.Task{ID: fmt.Sprint(i), Payload: api.Payload{Backend: api.BackendSleep, Sleep: time.Second}}
	}
	return s
}

func accept(key string, tasks int) Record {
	return Record{Kind: Accepted, Submission: submission(key, tasks)}
}

func taskEnd(key string, task int) Record {
	return Record{Kind: TaskEnded, Job: jobID(key), First: int32(task), Attempt: 1, Outcome: sched.Done, Elapsed: time.Second, At: 5}
}

func jobEnd(key string, at time.Time) Record {
	return Record{Kind: JobEnded, Job: jobID(key), Ended: &Ended{Job: jobID(key), Key: key, At: at.UnixNano(), Status: api.Status{State: api.StateCompleted}}}
}

// appendWait appends and waits for the answer.
func appendWait(j *Journal, recs ...Record) error {
	done := make(chan error, 1)
	if err := j.Append(recs, func(err error) { done <- err }); err != nil {
		return err
	}
	return <-done
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kept is what a journal read back, with the records of each job.
type kept struct {
	subs   []*Submission
	events map[string][]Record
}

func open(t testing.TB, dir string, o Options) (*Journal, *Report, *kept) {
	t.Helper()
	j, rep, k, err := tryOpen(dir, o)
	must(t, err)
	return j, rep, k
}

func tryOpen(dir string, o Options) (*Journal, *Report, *kept, error) {
	k := &kept{events: make(map[string][]Record)}
	o.MinFree = 1
	if replicaFor != nil && o.Replica == nil {
		s, err := replicaFor(dir)
		if err != nil {
			return nil, nil, k, err
		}
		o.Replica = s
	}
	j, rep, err := Open(dir, o, func(job *Job) error {
		k.subs = append(k.subs, job.Submission)
		key := job.Submission.Request.Key
		k.events[key] = append(k.events[key], job.Events...)
		return nil
	})
	return j, rep, k, err
}

// refusal returns the error of an opening that must not succeed.
func refusal(dir string, o Options) error {
	j, rep, _, err := tryOpen(dir, o)
	if err == nil {
		return errors.Join(fmt.Errorf("it opened: %v", rep), j.Close())
	}
	return err
}

func (k *kept) keys() []string {
	var keys []string
	for _, s := range k.subs {
		keys = append(keys, s.Request.Key)
	}
	return keys
}

// clock is a wall clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Unix(1_700_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fourParts fails unless the error has all four parts.
func fourParts(t testing.TB, err error) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *api.Error", err)
	}
	if e.What == "" || e.Subject == "" || e.Tried == "" || e.Next == "" {
		t.Fatalf("a part is missing: %+v", e)
	}
	return e
}
