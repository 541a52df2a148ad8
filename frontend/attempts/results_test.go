package attempts

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// drawResults returns a job whose tasks have ended at drawn nodes.
func drawResults(t *rapid.T, table *Table) *attempts {
	j := &attempts{tasks: make([]attempt, rapid.IntRange(1, 300).Draw(t, "tasks"))}
	for i := range j.tasks {
		r := &j.tasks[i]
		r.outcome = sched.Done
		table.nodes.set(&r.node, rapid.SampledFrom([]string{"", "n1", "n2", "node-3"}).Draw(t, "node"))
		if rapid.IntRange(0, 3).Draw(t, "failed") == 0 {
			r.outcome, r.number, r.exit = sched.Failed, rapid.Int32Min(1).Draw(t, "attempt"), rapid.Int16().Draw(t, "exit")
			r.elapsed = time.Duration(rapid.Int64Min(0).Draw(t, "elapsed"))
			r.code = codeOf(rapid.SampledFrom(append(api.FailureCodes(), "", "unknown")).Draw(t, "code"))
		}
	}
	return j
}

// TestResultsAreKept: a process with other numbers of nodes reads which node reported each task,
// and how the first ones that failed did so.
func TestResultsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := New(nil), New(nil)
		after.nodes.set(new(uint32), "another")
		j := drawResults(t, before)
		back := &attempts{tasks: make([]attempt, len(j.tasks))}
		if err := after.restoreResults(back, before.results(j)); err != nil {
			t.Fatal(err)
		}
		failures := 0
		for i := range j.tasks {
			was, is := j.tasks[i], back.tasks[i]
			if got, want := after.nodes.name(is.node), before.nodes.name(was.node); got != want {
				t.Fatalf("task %d is of node %q, was of %q", i, got, want)
			}
			if !was.failed() || failures == resultFailures {
				continue
			}
			failures++
			if !is.failed() || is.number != was.number || is.exit != was.exit || is.code != was.code || is.elapsed != was.elapsed {
				t.Fatalf("task %d is %+v, was %+v", i, is, was)
			}
		}
	})
}

// Damaged results are refused, and nothing else happens.
func FuzzRestoreResults(f *testing.F) {
	table := New(nil)
	j := &attempts{tasks: []attempt{{}, {outcome: sched.Failed, number: 2, exit: -1, elapsed: 5}}}
	table.nodes.set(&j.tasks[0].node, "n1")
	f.Add(table.results(j))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, kept []byte) {
		table := New(nil)
		back := &attempts{tasks: make([]attempt, 2)}
		if err := table.restoreResults(back, kept); err == nil {
			for i := range back.tasks {
				table.nodes.name(back.tasks[i].node)
			}
		}
	})
}

// A job of too many tasks keeps none.
func TestResultsAreBounded(t *testing.T) {
	if b := New(nil).results(&attempts{tasks: make([]attempt, resultTasks+1)}); b != nil {
		t.Errorf("%d bytes are kept", len(b))
	}
}

// TestRevokedLossIsNoEarlierAttempt: an attempt that was mistaken for lost, and whose result was
// accepted, is no attempt that another one followed.
func TestRevokedLossIsNoEarlierAttempt(t *testing.T) {
	all, table := observed(0)
	j := all.Restore(&journal.Submission{Request: api.Request{Tasks: make([]api.Task, 2)}, Submitted: 1})
	for _, r := range []journal.Record{
		{Kind: journal.Lost, First: 0, Attempt: 2, Node: "n1"},
		{Kind: journal.Lost, First: 1, Attempt: 2, Node: "n1"},
		{Kind: journal.TaskReported, First: 0, Attempt: 1, Outcome: sched.Done, Node: "n2"},
	} {
		all.RestoreRecord(j, &r, 1)
	}
	a := table.jobs[j]
	if left := table.earlierTasks(a, 10); len(left) != 1 || left[0].Task != 1 || left[0].Attempt != 1 {
		t.Errorf("%+v", left)
	}
	if table.counts(a, 1, 1); len(a.earlier) != 0 || len(table.nodes.numbers) != 1 {
		t.Errorf("%+v, and names of %d nodes", a.earlier, len(table.nodes.numbers))
	}
}

// The record of earlier attempts is read back, is bounded, and is refused when it is damaged. It
// names the nodes of a job's attempts when the job is not in memory.
func TestEarlierAttemptsAreKept(t *testing.T) {
	before := New(nil)
	j := &attempts{tasks: []attempt{{outcome: sched.Done}, {outcome: sched.Done}}}
	before.nodes.set(&j.tasks[0].node, "n1")
	before.nodes.set(&j.tasks[1].node, "n2")
	if kept := before.earlierAttempts(j); kept != nil {
		t.Errorf("%d bytes of nothing", len(kept))
	}
	for i := range int32(keptEarlier + 5) {
		before.addEarlier(j, earlier{task: i % 2, attempt: i + 1, exit: -1, code: codeOf(api.FailureCodes()[0]), elapsed: 5, reason: "r" + strings.Repeat("é", keptReasonBytes)}, fmt.Sprint("e", i))
	}
	kept := before.earlierAttempts(j)
	after, back := New(nil), &attempts{tasks: make([]attempt, 2)}
	after.nodes.set(new(uint32), "another")
	if err := after.restoreEarlierAttempts(back, kept); err != nil || len(back.earlier) != keptEarlier {
		t.Fatalf("%d, %v", len(back.earlier), err)
	}
	for i, is := range back.earlier {
		was := j.earlier[i+5]
		if after.nodes.name(is.node) != before.nodes.name(was.node) || len(is.reason) < keptReasonBytes-5 || len(is.reason) > keptReasonBytes || !utf8.ValidString(is.reason) {
			t.Errorf("%d: of node %q, a reason of %d", i, after.nodes.name(is.node), len(is.reason))
		}
		is.node, is.reason = was.node, was.reason
		if is != was {
			t.Errorf("%+v was %+v", is, was)
		}
	}
	for cut := range kept {
		if err := after.restoreEarlierAttempts(&attempts{tasks: make([]attempt, 2)}, kept[:cut]); err == nil {
			t.Fatalf("%d of %d bytes are read", cut, len(kept))
		}
	}

	e := &journal.Ended{Status: api.Status{Tasks: 2}, Results: before.results(j), Earlier: kept}
	for _, c := range []struct {
		task, attempt int
		want          string
	}{{0, 0, "n1"}, {1, 0, "n2"}, {1, 24, "e23"}, {0, 25, "e24"}, {0, 1, "n1"}, {2, 0, ""}, {-1, 0, ""}} {
		if got, err := NodeOf(e, c.task, c.attempt); got != c.want || err != nil {
			t.Errorf("task %d attempt %d ran on %q, want %q; %v", c.task, c.attempt, got, c.want, err)
		}
	}
}
