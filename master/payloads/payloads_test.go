package payloads

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func tasksOf(first, count int32, payload string) *wire.Item {
	return &wire.Item{
		Msg:   sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 1}, First: first, Count: count, Attempt: 1},
		Extra: wire.Extra{JobName: "j", SchedulerAddress: "s:1", User: "u", Payloads: []api.Payload{{Message: []byte(payload)}}},
	}
}

// The record of a job does not grow with repetitions, the newest counts, and what a
// registering node knew about the job is completed.
func TestPutReplaces(t *testing.T) {
	s := New()
	id := sched.JobID{Lo: 1}
	s.Adopt(id, "j", "o:1")
	for range 5 {
		s.Put(tasksOf(0, 10, "all"))
		s.Put(tasksOf(3, 1, "one"))
	}
	if n := len(s.jobs[id].list); n != 2 {
		t.Errorf("ten messages about two ranges are kept as %d", n)
	}
	e, arrived := s.Of(sched.AttemptID{Job: id, Task: 3, Attempt: 2})
	if string(e.Payload(0).Message) != "one" || e.SchedulerAddress != "s:1" || e.User != "u" || arrived.IsZero() {
		t.Errorf("task 3 travels with %+v", e)
	}
	if e, _ := s.Of(sched.AttemptID{Job: id, Task: 4}); string(e.Payload(0).Message) != "all" {
		t.Errorf("task 4 travels with %+v", e)
	}
	if e, arrived := s.Of(sched.AttemptID{Job: id, Task: 11}); len(e.Payloads) != 0 || !arrived.IsZero() {
		t.Errorf("a task that never came travels with %+v", e)
	}
	if want := Size(tasksOf(0, 10, "all")) + Size(tasksOf(3, 1, "one")); s.Bytes() != want {
		t.Errorf("they have %d bytes, want %d", s.Bytes(), want)
	}
	if s.Drop(id); len(s.jobs) != 0 || s.Bytes() != 0 {
		t.Errorf("kept are %v, %d bytes", s.jobs, s.Bytes())
	}
}

func TestReaddress(t *testing.T) {
	s := New()
	s.Adopt(sched.JobID{Lo: 1}, "a", "old:1")
	s.Adopt(sched.JobID{Lo: 2}, "b", "other:1")
	s.Readdress("old:1", "new:1", "new:2")
	for lo, want := range map[uint64]string{1: "new:1", 2: "other:1"} {
		if e, _ := s.Of(sched.AttemptID{Job: sched.JobID{Lo: lo}}); e.FrontendAddress != want {
			t.Errorf("job %d is %s's, want %s", lo, e.FrontendAddress, want)
		}
	}
}
