package payloads

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A job of which at most so many tasks may run at a time arrives in one message for each task. Its
// payload takes room once, as that of a job whose tasks arrive together.
func TestTasksOneByOne(t *testing.T) {
	s, script := New(), strings.Repeat("x", 4<<10)
	for task := range int32(sched.MaxTasks) {
		s.Put(tasksOf(task, 1, script))
	}
	if most := Size(tasksOf(0, sched.MaxTasks, script)) + sched.MaxTasks*rangeBytes; s.Bytes() > most {
		t.Errorf("%d tasks of one payload have %d bytes, want at most %d", sched.MaxTasks, s.Bytes(), most)
	}
	id := sched.JobID{Lo: 1}
	if e, arrived := s.Of(sched.AttemptID{Job: id, Task: 7}); string(e.Payload(0).Message) != script || arrived.IsZero() {
		t.Errorf("a task travels with %+v", e)
	}
	if s.Drop(id); s.Bytes() != 0 {
		t.Errorf("a dropped job leaves %d bytes", s.Bytes())
	}
}

// Whatever ranges arrive, and however often, each task travels with what the newest of them has,
// and the bytes are those of what is kept.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, id := New(), sched.JobID{Lo: 1}
		tasks := int32(rapid.IntRange(1, 40).Draw(t, "tasks")) //nolint:gosec // few
		want := map[int32]string{}
		for i := range rapid.IntRange(1, 120).Draw(t, "messages") {
			first := rapid.Int32Range(0, tasks-1).Draw(t, "first")
			it := tasksOf(first, rapid.Int32Range(1, min(3, tasks-first)).Draw(t, "count"), rapid.SampledFrom([]string{"a", "bb"}).Draw(t, "payload"))
			if each := rapid.Bool().Draw(t, "a payload for each"); each {
				it.Payloads = nil
				for k := range it.Msg.Count {
					it.Payloads = append(it.Payloads, api.Payload{Message: fmt.Append(nil, i, k)})
				}
			}
			s.Put(it)
			for k := range it.Msg.Count {
				want[first+k] = string(it.Payloads[min(int(k), len(it.Payloads)-1)].Message)
			}
		}
		for task := range tasks {
			e, arrived := s.Of(sched.AttemptID{Job: id, Task: task})
			if got := len(e.Payloads) > 0; got != (want[task] != "") || got && string(e.Payload(0).Message) != want[task] || arrived.IsZero() == got {
				t.Fatalf("task %d travels with %+v, want %q", task, e.Payloads, want[task])
			}
		}
		bytes, shared, live := int64(0), map[*data]bool{}, map[span]bool{}
		s.jobs[id].each(func(r *taskRange) {
			if live[r.span()] {
				t.Fatalf("two ranges are of the tasks %v", r.span())
			}
			live[r.span()] = true
			bytes += rangeBytes
			if !shared[r.data] {
				bytes += payloadsSize(r.data.payloads)
			}
			shared[r.data] = true
		})
		if s.Bytes() != bytes {
			t.Fatalf("%d bytes, want %d", s.Bytes(), bytes)
		}
		if n := len(s.jobs[id].list); n > 2*len(live)+1 {
			t.Fatalf("%d ranges are kept as %d", len(live), n)
		}
		if s.Drop(id); s.Bytes() != 0 {
			t.Fatalf("a dropped job leaves %d bytes", s.Bytes())
		}
	})
}
