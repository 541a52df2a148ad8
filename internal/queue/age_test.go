package queue_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// aged is a task of the model: every job has one.
type aged struct {
	job   int
	since sched.Time
	head  bool
}

// TestPushByAgeAgainstModel queues tasks at the head, at the tail and by their age, takes and
// removes some, and compares the order in which they are served with that of a sorted list.
func TestPushByAgeAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := queue.NewIndex()
		service, _ := x.Join([]string{""})
		var model []aged
		var jobs []*queue.Job
		now := sched.Time(100)
		add := func(r aged, at int) { model = slices.Insert(model, at, r) }
		steps := map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				now += sched.Time(rapid.IntRange(0, 2).Draw(t, "later"))
				j := &queue.Job{ID: sched.NewJobID("f", fmt.Sprint(len(jobs)))}
				x.Enter(j, "", "", 0)
				jobs = append(jobs, j)
				r := aged{job: len(jobs) - 1, since: now}
				switch rapid.IntRange(0, 3).Draw(t, "where") {
				case 0:
					r.head = true
					x.PushHead(now, j, 0, 1, 1)
					add(r, 0)
				case 1:
					x.PushTail(now, j, 0, 1, 1)
					add(r, len(model))
				default:
					r.since = sched.Time(rapid.Int64Range(-5, int64(now)).Draw(t, "since"))
					x.PushByAge(sched.Short, r.since, j, 0, 1, 1)
					at := len(model)
					for at > 0 && !model[at-1].head && model[at-1].since > r.since {
						at--
					}
					add(r, at)
				}
			},
			"take": func(t *rapid.T) {
				r := x.First(service, sched.Short)
				if len(model) == 0 || r == nil {
					if len(model) != 0 || r != nil {
						t.Fatalf("the first is %v of %d", r, len(model))
					}
					return
				}
				if want := model[0]; r.Job != jobs[want.job] || r.Since != want.since {
					t.Fatalf("the first is job %v since %d, want %+v", r.Job.ID, r.Since, want)
				}
				x.Take(r)
				model = model[1:]
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					return
				}
				at := rapid.IntRange(0, len(model)-1).Draw(t, "at")
				x.Remove(jobs[model[at].job], 0, 1)
				model = slices.Delete(model, at, at+1)
			},
			"": func(t *rapid.T) {
				if err := x.Valid(); err != nil {
					t.Fatal(err)
				}
			},
		}
		t.Repeat(steps)
		for len(model) > 0 {
			steps["take"](t)
		}
	})
}

// Tasks of several owners are each queued among those of their owner and priority.
func TestPushByAgeOfSeveralOwners(t *testing.T) {
	x := queue.NewIndex()
	push := func(owner string, priority int32, since sched.Time) {
		j := &queue.Job{}
		x.Enter(j, "", owner, priority)
		x.PushByAge(sched.Short, since, j, 0, 1, 1)
		if err := x.Valid(); err != nil {
			t.Fatalf("after a task of %q that waits since %d: %v", owner, since, err)
		}
	}
	for _, since := range []sched.Time{4, 9, 1, 5, 5} {
		push("a", 0, since)
		push("b", 0, since+1)
		push("b", 3, since+2)
	}
	got := map[string][]sched.Time{}
	for r := x.FirstOf([]string{""}, sched.Short); r != nil; r = x.FirstOf([]string{""}, sched.Short) {
		key := fmt.Sprint(r.Job.Owner().Path(), r.Job.Priority())
		got[key] = append(got[key], r.Since)
		x.Take(r)
	}
	for key, want := range map[string][]sched.Time{"a0": {1, 4, 5, 5, 9}, "b0": {2, 5, 6, 6, 10}, "b3": {3, 6, 7, 7, 11}} {
		if !slices.Equal(got[key], want) {
			t.Errorf("tasks of %s are served in the order of these ages: %d, want %d", key, got[key], want)
		}
	}
}
