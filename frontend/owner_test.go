package frontend

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// An acknowledgement waits for the records of an earlier batch that are still
// being written: a repeated report is not told "on the disk" before the first is.
func TestNothingIsToldBeforeTheDisk(t *testing.T) {
	for _, fails := range []error{nil, errors.New("no space left")} {
		var told []string
		var ended error
		reply := func(name string) func(error) {
			return func(err error) {
				if !errors.Is(err, fails) {
					t.Errorf("%s is told %v, want %v", name, err, fails)
				}
				told = append(told, name)
			}
		}
		o := &owner{acker: &acker{}, fail: func(err error) { ended = err }}
		first := &batchResult{replies: []func(error){reply("first")}}
		o.writing = first
		for _, name := range []string{"second", "third"} {
			o.batch.replies = []func(error){reply(name)}
			o.commit()
		}
		if len(told) != 0 {
			t.Fatalf("told before the disk: %q", told)
		}
		o.written(first, fails)
		if !slices.Equal(told, []string{"first", "second", "third"}) || !errors.Is(ended, fails) || o.writing != nil {
			t.Errorf("told %q, the daemon ends with %v", told, ended)
		}
		o.batch.replies = []func(error){func(error) { told = append(told, "fourth") }}
		if o.commit(); len(told) != 4 {
			t.Error("without anything on its way to the disk an answer waits")
		}
	}
}

// Ended jobs leave the memory when they are too many, have too many tasks, or are
// too old, the oldest first.
func TestEndedJobsAreForgotten(t *testing.T) {
	const old = 2 * time.Hour
	for name, c := range map[string]struct {
		jobs, tasks, left int
		age               time.Duration
	}{
		"few":           {10, 1, 10, 0},
		"many":          {keepEnded + 5, 1, keepEnded, 0},
		"of many tasks": {12, keepEndedTasks / 10, 10, 0},
		"old":           {10, 1, 0, old},
	} {
		o := &owner{cfg: Config{Retention: time.Hour}, jobs: map[sched.JobID]*job{}}
		for i := range c.jobs {
			j := &job{id: sched.JobID{Lo: uint64(i)}, reports: make([]taskReport, c.tasks), endedAt: time.Now().Add(-c.age)} //nolint:gosec // few
			o.jobs[j.id] = j
			o.ended.add(j)
		}
		o.forget()
		if len(o.jobs) != c.left || len(o.ended.list) != c.left || o.ended.tasks != c.left*c.tasks {
			t.Errorf("%s: %d jobs, %d in the list, %d tasks; want %d jobs", name, len(o.jobs), len(o.ended.list), o.ended.tasks, c.left)
		}
		if newest := (sched.JobID{Lo: uint64(c.jobs - 1)}); c.left > 0 && o.known(newest) == nil { //nolint:gosec // few
			t.Errorf("%s: the newest was forgotten", name)
		}
	}
}

// A frontend that did not run itself for a while asks its masters again before it
// takes them for lost.
func TestMasterIsAskedAgainAfterASleep(t *testing.T) {
	core := pigeon.NewDistributor(sched.DistributorConfig{})
	o := &owner{cfg: Config{MasterLost: time.Minute}, log: slog.New(slog.DiscardHandler), plan: plan{Policy: pigeon.Policy()}, core: core, clock: runloop.NewClock()}
	o.steps = runloop.NewStepper(func(sched.Addr, *sched.Action) {}, nil)
	m := &master{up: true, contact: protocol.NewContact(o.clock.Now() - sched.Time(time.Hour))}
	for i := 1; i <= 3; i++ {
		o.helloAnswered(m, wire.HelloReply{}, errors.New("no answer"))
		if m.up != (i < 3) {
			t.Errorf("after %d hellos without an answer the master is up: %v", i, m.up)
		}
	}
}
