package jobs

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// endAt enters a job of two tasks that has ended: one ran at a node, the other one there after
// it was lost at others.
func endAt(t fataler, table *Table, i int, node string, lost []string) *Job {
	before := New(Options{})
	j := &Job{reports: make([]taskReport, 2)}
	for k := range j.reports {
		before.nodes.set(&j.reports[k].node, node)
	}
	for k, name := range lost {
		before.addEarlier(j, earlier{task: 1, attempt: int32(k) + 1}, name) //nolint:gosec // few
	}
	e := &journal.Ended{Job: sched.JobID{Lo: uint64(i) + 1}, Status: api.Status{Tasks: 2}, Results: before.results(j), Earlier: before.earlierAttempts(j)} //nolint:gosec // not negative
	if err := table.RestoreEnded(e, 0); err != nil {
		t.Fatal(err)
	}
	return table.jobs[e.Job]
}

type fataler interface{ Fatal(args ...any) }

// Nodes come and go, each under a new name: the names of nodes at which only forgotten jobs
// ran are forgotten, too.
func TestNodeNamesAreForgotten(t *testing.T) {
	const kept = 10
	table := New(Options{Retention: time.Hour, MaxEnded: kept})
	for i := range 10_000 {
		endAt(t, table, i, fmt.Sprint("n", i), []string{fmt.Sprint("lost-", i)})
	}
	if got := len(table.nodes.numbers); got != 2*kept {
		t.Errorf("%d names are kept for %d jobs that ran at two nodes each", got, kept)
	}
	if got := len(table.nodes.names); got > 2*(kept+1)+1 {
		t.Errorf("there are %d numbers for the names of %d jobs", got, kept+1)
	}
}

// A job that cannot be kept at all leaves no names.
func TestNodeNamesOfAJobThatIsTooOld(t *testing.T) {
	table := New(Options{Retention: time.Hour})
	e := &journal.Ended{Job: sched.JobID{Lo: 1}, Status: api.Status{Tasks: 1}}
	before, j := New(Options{}), &Job{reports: make([]taskReport, 1)}
	before.nodes.set(&j.reports[0].node, "n")
	e.Results = before.results(j)
	if err := table.RestoreEnded(e, 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	if len(table.jobs) != 0 || len(table.nodes.numbers) != 0 {
		t.Errorf("%d jobs and %d names are kept, want none", len(table.jobs), len(table.nodes.numbers))
	}
}

// Whatever jobs end, have more attempts, run again and are forgotten: each finds its nodes by
// their names.
func TestNodeNamesAgainstTheJobs(t *testing.T) {
	names := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"})
	rapid.Check(t, func(t *rapid.T) {
		table := New(Options{Retention: time.Hour, MaxEnded: 3})
		want := map[*Job][2][]string{}
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			node, lost := names.Draw(t, "node"), rapid.SliceOfN(names, 0, 4).Draw(t, "lost")
			want[endAt(t, table, i, node, lost)] = [2][]string{{node, node}, lost}
			used := map[string]bool{}
			for j, w := range want {
				if table.jobs[j.ID] != j {
					delete(want, j)
					continue
				}
				for k := range j.reports {
					if got := table.nodes.name(j.reports[k].node); got != w[0][k] {
						t.Fatalf("task %d ran at %q, want %q", k, got, w[0][k])
					}
					used[w[0][k]] = true
				}
				for k := range j.earlier {
					if got := table.nodes.name(j.earlier[k].node); got != w[1][k] {
						t.Fatalf("an attempt ran at %q, want %q", got, w[1][k])
					}
					used[w[1][k]] = true
				}
			}
			if delete(used, ""); len(table.nodes.numbers) != len(used) {
				t.Fatalf("the names %v are kept, want %v", table.nodes.numbers, used)
			}
		}
	})
}

// A job that is retried many times keeps the node names of the attempts that it keeps.
func TestNodeNamesOfEarlierAttempts(t *testing.T) {
	table, j := New(Options{}), &Job{reports: make([]taskReport, 1)}
	for i := range int32(10 * earlierOfJob) {
		table.addEarlier(j, earlier{attempt: i + 1}, fmt.Sprint("n", i))
	}
	if got := len(table.nodes.numbers); got != earlierOfJob {
		t.Errorf("%d names are kept, want %d", got, earlierOfJob)
	}
}
