package queue_test

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// waiting ranks by estimate x tasks and, after every tenth instant, the other way
// round.
type waiting struct{ at sched.Time }

func (o *waiting) Rank(j *queue.Job) float64 {
	rank := float64(j.Estimate) * float64(j.Queued)
	if o.at/10%2 == 1 {
		return -rank
	}
	return rank
}

func (o *waiting) Renew(now sched.Time) bool {
	changed := now/10 != o.at/10
	if changed {
		o.at = now
	}
	return changed
}

// best is First by looking at everything: jobs are in order of their entry.
func best(o *waiting, jobs []*queue.Job, now, overdue sched.Time) *queue.Run {
	var urgent, first *queue.Run
	var least *queue.Job
	for _, j := range jobs {
		if j.Queued == 0 {
			continue
		}
		j.EachRun(func(r *queue.Run) {
			if overdue > 0 && now-r.Since > overdue && (urgent == nil || before(r, urgent)) {
				urgent = r
			}
		})
		if least == nil || o.Rank(j) < o.Rank(least) {
			least = j
		}
	}
	if urgent != nil || least == nil {
		return urgent
	}
	least.EachRun(func(r *queue.Run) {
		if first == nil || before(r, first) {
			first = r
		}
	})
	return first
}

// before reports whether the run of a job goes before another of its runs: what came first, and
// of what came together and was cut, the lower numbers.
func before(r, o *queue.Run) bool {
	return cmp.Or(cmp.Compare(r.Since, o.Since), cmp.Compare(r.First, o.First)) < 0
}

// An ordered queue gives what a look at all jobs gives, whatever comes and goes.
func TestOrderedIndexAgainstScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		overdue := sched.Time(rapid.SampledFrom([]int64{0, 30}).Draw(t, "overdue"))
		order := &waiting{}
		x := queue.NewOrderedIndex(queue.Orders{By: [sched.NumClasses]queue.Order{sched.Short: order}, Overdue: overdue})
		service, _ := x.Join([]string{"a", "b"})
		var jobs []*queue.Job // in order of entry
		push := func(j *queue.Job, now sched.Time) {
			x.PushTail(now, j, rapid.Int32Range(0, 5).Draw(t, "first"), rapid.Int32Range(1, 5).Draw(t, "count"), 1)
		}
		for now := sched.Time(1); now < 150; now++ {
			x.Renew(now)
			switch rapid.IntRange(0, 4).Draw(t, "act") {
			case 0, 1:
				j := enter(x, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app"), queue.Job{Estimate: sched.Time(rapid.Int64Range(1, 4).Draw(t, "estimate"))})
				jobs = append(jobs, j)
				push(j, now)
			case 2:
				if len(jobs) > 0 {
					j := rapid.SampledFrom(jobs).Draw(t, "job")
					if j.Queued > 0 { // a job that comes again would enter behind others
						push(j, now)
					}
				}
			case 3:
				if len(jobs) > 0 {
					x.Remove(rapid.SampledFrom(jobs).Draw(t, "job"), rapid.Int32Range(0, 5).Draw(t, "first"), rapid.Int32Range(1, 3).Draw(t, "count"))
				}
			}
			got, want := x.First(service, sched.Short), best(order, jobs, now, overdue)
			if (got == nil) != (want == nil) {
				t.Fatalf("at %d the next is %+v, want %+v", now, got, want)
			}
			if got != nil && (got.Job != want.Job || got.Since != want.Since || got.First != want.First) {
				t.Fatalf("at %d the next is %+v of %+v, want %+v of %+v", now, got, got.Job, want, want.Job)
			}
			if got != nil && rapid.Bool().Draw(t, "take") {
				x.Take(got)
			}
		}
	})
}

// A task that waits aside is ranked in that queue, by the tasks that wait there; its
// siblings are ranked without it.
func TestRanksOfTasksAside(t *testing.T) {
	order := &waiting{}
	x := queue.NewOrderedIndex(queue.Orders{By: [sched.NumClasses]queue.Order{&aside{}, order}})
	service, _ := x.Join([]string{""})
	long := enter(x, "", queue.Job{Estimate: 5, Class: sched.Long})
	short := enter(x, "", queue.Job{Estimate: 6})
	x.PushTail(1, short, 0, 1, 1)
	x.PushTail(2, long, 1, 3, 1)
	x.PushTailAs(sched.Short, 3, long, 0, 1, 1)
	if r := x.First(service, sched.Short); r.Job != long || r.First != 0 || x.Queued(sched.Short) != 2 {
		t.Errorf("the next short task is %d of the job with estimate %d", r.First, r.Job.Estimate)
	}
	if r := x.First(service, sched.Long); r.First != 1 || x.Queued(sched.Long) != 3 {
		t.Errorf("the next long task is %d", r.First)
	}
}

// A rank that counts all tasks of a job changes with those that wait aside.
func TestRankCountsTasksAside(t *testing.T) {
	x := queue.NewOrderedIndex(queue.Orders{By: [sched.NumClasses]queue.Order{sched.Long: &waiting{}}})
	service, _ := x.Join([]string{""})
	first, second := enter(x, "", queue.Job{Estimate: 2, Class: sched.Long}), enter(x, "", queue.Job{Estimate: 3, Class: sched.Long})
	x.PushTail(1, first, 0, 1, 1)
	x.PushTail(1, second, 0, 1, 1)
	x.PushTailAs(sched.Short, 1, first, 1, 1, 1)
	if r := x.First(service, sched.Long); r.Job != second {
		t.Error("the job with twice the tasks of 2, one of them aside, is served before the one with a task of 3")
	}
}

// aside ranks by estimate x tasks in the queue of short tasks.
type aside struct{ waiting }

func (*aside) Rank(j *queue.Job) float64 {
	return float64(j.Estimate) * float64(j.QueuedAs(sched.Short))
}

// A rank that changes without a task coming or going counts from Changed on, in the queues in
// which the job waits.
func TestChanged(t *testing.T) {
	order := &waiting{}
	x := queue.NewOrderedIndex(queue.Orders{By: [sched.NumClasses]queue.Order{order, order}})
	service, _ := x.Join([]string{""})
	small, big := enter(x, "", queue.Job{Estimate: 1}), enter(x, "", queue.Job{Estimate: 9})
	for _, j := range []*queue.Job{small, big} {
		x.PushTail(1, j, 0, 1, 1)
		x.PushTailAs(sched.Long, 1, j, 1, 1, 1)
	}
	small.Estimate = 10
	x.Changed(small)
	for c := range sched.Class(sched.NumClasses) {
		if r := x.First(service, c); r.Job != big {
			t.Errorf("the next %v task is of the job that has more work since its estimate is another", c)
		}
	}
}

// A task put to the head is served before all ranks.
func TestHeadGoesBeforeRanks(t *testing.T) {
	x := queue.NewOrderedIndex(queue.Orders{By: [sched.NumClasses]queue.Order{sched.Short: &waiting{}}})
	service, _ := x.Join([]string{""})
	small, big := enter(x, "", queue.Job{Estimate: 1}), enter(x, "", queue.Job{Estimate: 9})
	x.PushTail(1, small, 0, 1, 1)
	x.PushHead(2, big, 0, 1, 2)
	if r := x.First(service, sched.Short); r.Job != big {
		t.Errorf("the next is of the job with estimate %d", r.Job.Estimate)
	}
}

// FirstOf serves a worker of another group by the names of its applications.
func TestFirstOf(t *testing.T) {
	x := queue.NewIndex()
	j := enter(x, "a", queue.Job{})
	x.PushTail(1, j, 0, 1, 1)
	if x.FirstOf([]string{"b"}, sched.Short) != nil || x.FirstOf([]string{"b", "a"}, sched.Short).Job != j || x.FirstOf([]string{"a"}, sched.Long) != nil {
		t.Error("the applications are mixed up")
	}
}

// enter adds a job without an owner to an index.
func enter(x *queue.Index, app string, j queue.Job) *queue.Job {
	x.Enter(&j, app, "", 0)
	return &j
}
