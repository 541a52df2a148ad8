package master

import (
	"log/slog"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A master that did not run itself for a while, as on a machine that slept, does
// not take its nodes for lost before it has read what they said.
func TestSweepAfterASleep(t *testing.T) {
	o := &owner{cfg: Config{LostAfter: time.Minute}, log: slog.New(slog.DiscardHandler), nodes: map[string]*node{}}
	ago := time.Now().Add(-2 * time.Minute)
	o.swept = ago
	o.nodes["n1"] = &node{id: "n1", heard: ago}
	o.sweep() // would lose n1, and panic for want of a core
	if heard := time.Since(o.nodes["n1"].heard); heard > o.cfg.LostAfter/2 {
		t.Errorf("the master slept, and its node counts as silent for %v", heard)
	}
}

func tasksOf(job uint64, first, count int32, payload string) *wire.Item {
	return &wire.Item{
		Msg:   sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: job}, First: first, Count: count, Attempt: 1},
		Extra: wire.Extra{JobName: "j", SchedulerAddress: "s:1", User: "u", Payloads: []api.Payload{{Message: []byte(payload)}}},
	}
}

// The cargo of a job does not grow with repetitions, the newest counts, and what a
// registering node told of the job is completed.
func TestCargoIsReplaced(t *testing.T) {
	c := newCargo()
	id := sched.JobID{Lo: 1}
	c.adopt(id, "j", "o:1")
	for range 5 {
		c.load(tasksOf(1, 0, 10, "all"))
		c.load(tasksOf(1, 3, 1, "one"))
	}
	if n := len(c.jobs[id].ranges); n != 2 {
		t.Errorf("ten messages about two ranges are kept as %d", n)
	}
	e, arrived := c.unload(sched.AttemptID{Job: id, Task: 3, Attempt: 2})
	if string(e.Payload(0).Message) != "one" || e.SchedulerAddress != "s:1" || e.User != "u" || arrived.IsZero() {
		t.Errorf("task 3 goes with %+v", e)
	}
	if e, _ := c.unload(sched.AttemptID{Job: id, Task: 4}); string(e.Payload(0).Message) != "all" {
		t.Errorf("task 4 goes with %+v", e)
	}
	if e, arrived := c.unload(sched.AttemptID{Job: id, Task: 11}); len(e.Payloads) != 0 || !arrived.IsZero() {
		t.Errorf("a task that never came goes with %+v", e)
	}
	c.drop(id)
	if len(c.jobs) != 0 {
		t.Errorf("kept are %v", c.jobs)
	}
}
