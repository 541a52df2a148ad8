package attempts

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// observed returns a table of jobs that keeps so many ended ones, and the attempts of these.
func observed(kept int) (*jobs.Table, *Table) {
	t := New(nil)
	return jobs.New(jobs.Options{Retention: time.Hour, MaxEnded: kept, Clock: runloop.NewClock(), Observers: []jobs.Observer{t}}), t
}

// endAt enters a job of two tasks that has ended: one ran at a node, the other one there after
// it was lost at others.
func endAt(table *jobs.Table, i int, node string, lost []string) *jobs.Job {
	before := New(nil)
	a := &attempts{tasks: make([]attempt, 2)}
	for k := range a.tasks {
		before.nodes.set(&a.tasks[k].node, node)
	}
	for k, name := range lost {
		before.addEarlier(a, earlier{task: 1, attempt: int32(k) + 1}, name) //nolint:gosec // few
	}
	e := &journal.Ended{Job: sched.JobID{Lo: uint64(i) + 1}, Status: api.Status{Tasks: 2}, Results: before.results(a), Earlier: before.earlierAttempts(a)} //nolint:gosec // not negative
	table.RestoreEnded(e, 0)
	return table.Get(e.Job)
}

// Nodes come and go, each under a new name: the names of nodes at which only forgotten jobs
// ran are forgotten, too.
func TestNodeNamesAreForgotten(t *testing.T) {
	const kept = 10
	table, tried := observed(kept)
	for i := range 10_000 {
		endAt(table, i, fmt.Sprint("n", i), []string{fmt.Sprint("lost-", i)})
	}
	if got := len(tried.nodes.numbers); got != 2*kept || len(tried.jobs) != kept {
		t.Errorf("%d names are kept for %d jobs that ran at two nodes each", got, len(tried.jobs))
	}
	if got := len(tried.nodes.names); got > 2*(kept+1)+1 {
		t.Errorf("there are %d numbers for the names of %d jobs", got, kept+1)
	}
}

// A job that cannot be kept at all leaves no names.
func TestNodeNamesOfAJobThatIsTooOld(t *testing.T) {
	table, tried := observed(0)
	e := &journal.Ended{Job: sched.JobID{Lo: 1}, Status: api.Status{Tasks: 1}}
	before, a := New(nil), &attempts{tasks: make([]attempt, 1)}
	before.nodes.set(&a.tasks[0].node, "n")
	e.Results = before.results(a)
	table.RestoreEnded(e, 2*time.Hour)
	if len(tried.jobs) != 0 || len(tried.nodes.numbers) != 0 {
		t.Errorf("%d jobs and %d names are kept, want none", len(tried.jobs), len(tried.nodes.numbers))
	}
}

// Whatever jobs end, have more attempts, run again and are forgotten: each finds its nodes by
// their names.
func TestNodeNamesAgainstTheJobs(t *testing.T) {
	names := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"})
	rapid.Check(t, func(t *rapid.T) {
		table, tried := observed(3)
		want := map[*jobs.Job][2][]string{}
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			node, lost := names.Draw(t, "node"), rapid.SliceOfN(names, 0, 4).Draw(t, "lost")
			want[endAt(table, i, node, lost)] = [2][]string{{node, node}, lost}
			used := map[string]bool{}
			for j, w := range want {
				a := tried.jobs[j]
				if a == nil {
					delete(want, j)
					continue
				}
				for k := range a.tasks {
					if got := tried.nodes.name(a.tasks[k].node); got != w[0][k] {
						t.Fatalf("task %d ran at %q, want %q", k, got, w[0][k])
					}
					used[w[0][k]] = true
				}
				for k := range a.earlier {
					if got := tried.nodes.name(a.earlier[k].node); got != w[1][k] {
						t.Fatalf("an attempt ran at %q, want %q", got, w[1][k])
					}
					used[w[1][k]] = true
				}
			}
			if delete(used, ""); len(tried.nodes.numbers) != len(used) || len(want) > 3 {
				t.Fatalf("the names %v are kept, want %v", tried.nodes.numbers, used)
			}
		}
	})
}

// A job that is retried many times keeps the node names of the attempts that it keeps.
func TestNodeNamesOfEarlierAttempts(t *testing.T) {
	table, a := New(nil), &attempts{tasks: make([]attempt, 1)}
	for i := range int32(10 * earlierOfJob) {
		table.addEarlier(a, earlier{attempt: i + 1}, fmt.Sprint("n", i))
	}
	if got := len(table.nodes.numbers); got != earlierOfJob {
		t.Errorf("%d names are kept, want %d", got, earlierOfJob)
	}
}
