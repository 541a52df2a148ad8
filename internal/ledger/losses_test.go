package ledger_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A task fails exactly when three distinct nodes were lost while they ran it within the
// window, whatever else happens to it; a restart in between changes only that losses
// count as of then.
func TestDistinctLosses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		led, now, life := ledger.NewLife(1, window), sched.Time(0), int32(1)
		submit := &sched.Message{Kind: sched.Submit, Job: one, Count: 1, Retries: 255}
		led.Submit(0, submit)
		var (
			out     sched.Actions
			journal []sched.Message
			lost    []lostAt // the last loss of each node
		)
		for range 40 {
			j := led.Job(one)
			attempt := j.Tasks[0].Attempt
			m := &sched.Message{Kind: sched.AttemptLost, Job: one, Attempt: attempt, Reason: "it was silent",
				Node: rapid.SampledFrom([]string{"", "n1", "n1", "n2", "n3"}).Draw(t, "node")}
			switch rapid.SampledFrom([]string{"lost", "lost", "lost", "alive", "given back", "failed", "reported lost", "restart"}).Draw(t, "event") {
			case "lost":
				led.Lost(now, m, &out)
				lost = append(counting(lost, now, m.Node), lostAt{m.Node, attempt, now})
			case "reported lost":
				m.Kind, m.Outcome = sched.Report, sched.Lost
				led.Report(now, m, &out)
				lost = append(counting(lost, now, m.Node), lostAt{m.Node, attempt, now})
			case "alive":
				m.Attempt = rapid.Int32Range(1, attempt).Draw(t, "attempt")
				led.Alive(m.AttemptID(), &out)
				lost = slices.DeleteFunc(lost, func(l lostAt) bool { return l.attempt == m.Attempt })
			case "given back":
				m.Outcome = sched.Yielded
				led.Lost(now, m, &out)
			case "failed":
				m.Kind, m.Outcome = sched.Report, sched.Failed
				led.Report(now, m, &out)
			case "restart":
				life += sched.AttemptsPerLife
				led = ledger.NewLife(life, window)
				led.Submit(0, submit)
				for i := range journal {
					led.Restore(now, &journal[i])
				}
				for i := range lost {
					lost[i].at = now
				}
			}
			for _, a := range out.List() {
				if a.Kind == sched.Persist {
					journal = append(journal, a.Msg)
				}
			}
			out.Reset()
			lost = slices.DeleteFunc(lost, func(l lostAt) bool { return l.node == "" })
			if failed := led.Job(one) == nil; failed != (len(lost) == ledger.MaxLosses) {
				t.Fatalf("failed: %v, with losses %v", failed, lost)
			} else if failed {
				return
			}
			if err := led.Valid(); err != nil {
				t.Fatal(err)
			}
			now += sched.Time(rapid.Int64Range(0, 40).Draw(t, "later")) * sched.Second
			for k, _ := led.Due(now, &out); k != nil; k, _ = led.Due(now, &out) {
			}
			if task := led.Job(one).Tasks[0]; task.Waits {
				now += 30 * sched.Second
				led.Due(now, &out)
			}
		}
	})
}

// counting returns the losses that still count at a new one, which replaces an earlier one
// of its node.
func counting(list []lostAt, now sched.Time, node string) []lostAt {
	return slices.DeleteFunc(without(list, node), func(l lostAt) bool { return now-l.at > window })
}

// Losses use none of a task's retries, and its own failures count as no loss; each has
// its own pauses.
func TestLossesAndRetries(t *testing.T) {
	led, now := ledger.NewLife(1, 0), sched.Time(0)
	led.Submit(0, &sched.Message{Kind: sched.Submit, Job: one, Count: 2, Retries: 2})
	var out sched.Actions
	step := func(o sched.Outcome, node string, wait sched.Time) {
		t.Helper()
		m := &sched.Message{Kind: sched.Report, Job: one, Attempt: led.Job(one).Tasks[0].Attempt, Outcome: o, Node: node, Reason: "so"}
		_, v := led.Report(now, m, &out)
		if n, at, task := led.NextAttempt(led.Job(one)); (n > 0) != (wait > 0) || n > 0 && (at != now+wait || task != 0 || v != ledger.Later) {
			t.Fatalf("%s: verdict %d, %d wait, until %d, want %d", o, v, n, at, now+wait)
		}
		now += wait
		if j, task := led.Due(now, &out); (j != nil) != (wait > 0) || task != 0 {
			t.Fatalf("%s: task %d of %v is due", o, task, j)
		}
	}
	step(sched.Lost, "n1", 0)
	step(sched.Failed, "n1", 0)
	step(sched.Killed, "n2", sched.Second)
	step(sched.Yielded, "n3", 0)
	step(sched.Failed, "n1", 25*sched.Millisecond)
	step(sched.Lost, "n1", 2*sched.Second)
	if task := led.Job(one).Tasks[0]; task.Retried != 2 || task.Losses != 3 || task.Outcome != sched.Unfinished {
		t.Fatalf("the task is %+v", task)
	}
	step(sched.Failed, "n1", 0)
	if j := led.Job(one); j.Failed() != 1 || j.Reason() != "so" {
		t.Fatalf("after the last retry %d tasks have failed, %q", j.Failed(), j.Reason())
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		now += 30 * sched.Second
		led.Due(now, &out)
		if _, v := led.Lost(now, &sched.Message{Kind: sched.AttemptLost, Job: one, First: 1, Attempt: led.Job(one).Tasks[1].Attempt, Node: node, Reason: node + " died"}, &out); node == "n3" && v != ledger.Accepted {
			t.Fatalf("the third node: verdict %d", v)
		}
	}
	last := out.List()
	if reason := last[len(last)-2].Msg.Reason; last[len(last)-2].Msg.Kind != sched.JobEnded || reason != "so" {
		t.Errorf("the job ended by %q", reason)
	}
	if reason := last[len(last)-3].Msg.Reason; !strings.Contains(reason, "task 1 was lost with 3 nodes within 600 s, n1, n2 and n3, the last time because n3 died") {
		t.Errorf("task 1 ended by %q", reason)
	}
}

// What ends with a guard is one loss: it counts against the task that was alone with the guard, on
// whichever node, and against no other one. Each of them is tried again under a guard of its own,
// also after a restart, and those that were lost together not in step.
func TestLostWithGuard(t *testing.T) {
	type event struct {
		node     string
		together uint8
	}
	alone, among := event{"n1", 1}, event{"n1", 3}
	for _, c := range []struct {
		name   string
		events []event
		fails  bool
	}{
		{"alone, one node", []event{alone, alone, alone}, true},
		{"alone, two nodes", []event{alone, {"n2", 1}, alone}, true},
		{"first among others", []event{among, alone, alone, alone}, true},
		{"alone twice", []event{alone, among, among, among, alone}, false},
		{"always among others", slices.Repeat([]event{among, {"n2", 9}, {"n3", 255}}, 5), false},
		{"a node lost thrice", []event{{"n1", 0}, {"n1", 0}, {"n1", 0}}, false},
		{"two nodes and a guard of one", []event{{"n1", 0}, {"n2", 0}, {"n2", 1}}, true},
	} {
		for _, restart := range []bool{false, true} {
			led, now, out := ledger.NewLife(1, window), sched.Time(0), sched.Actions{}
			submit := &sched.Message{Kind: sched.Submit, Job: one, Count: 1, Retries: 1}
			led.Submit(now, submit)
			reason := ""
			for i, e := range c.events {
				if led.Job(one) == nil {
					t.Fatalf("%s, restarts %v: failed at event %d", c.name, restart, i)
				}
				m := &sched.Message{Kind: sched.Report, Job: one, Attempt: led.Job(one).Tasks[0].Attempt, Outcome: sched.Lost, Node: e.node, Losses: e.together, Reason: "so"}
				led.Report(now, m, &out)
				led.Report(now, m, &out) // the node repeats it, and this takes nothing back
				if j := led.Job(one); j != nil && restart {
					written := slices.Clone(out.List())
					led = ledger.NewLife(int32(i+1)*sched.AttemptsPerLife+1, window) //nolint:gosec // few
					led.Submit(now, submit)
					for k := range written {
						if written[k].Kind == sched.Persist {
							led.Restore(now, &written[k].Msg)
						}
					}
				}
				for _, a := range out.List() {
					if a.Msg.Kind == sched.TaskEnded {
						reason = a.Msg.Reason
					}
				}
				if j := led.Job(one); j != nil {
					if apart := j.Tasks[0].Marks.Has(sched.Apart); apart != (e.together > 0 || i > 0 && c.events[0].together > 0) {
						t.Errorf("%s, restarts %v: after event %d the task is apart: %v", c.name, restart, i, apart)
					}
					if j.Tasks[0].Retried != 0 {
						t.Errorf("%s: it has lost a retry", c.name)
					}
					if n, at, _ := led.NextAttempt(j); n > 0 {
						now = at
						led.Due(now, &out)
					}
				}
			}
			if failed := led.Job(one) == nil; failed != c.fails {
				t.Errorf("%s, restarts %v: failed: %v", c.name, restart, failed)
			}
			if only := c.events[0].together > 0; c.fails && only != strings.Contains(reason, "ran alone under each of 3 guards") {
				t.Errorf("%s, restarts %v: %q", c.name, restart, reason)
			}
		}
	}
}

// Tasks that were lost together again and again wait for different times.
func TestPausesAreNotInStep(t *testing.T) {
	const tasks = 16
	led, out, now := ledger.NewLife(1, window), sched.Actions{}, sched.Time(0)
	led.Submit(0, &sched.Message{Kind: sched.Submit, Job: one, Count: tasks})
	for round := range 6 {
		due := map[sched.Time]bool{}
		for i := range int32(tasks) {
			_, v := led.Report(now, &sched.Message{Kind: sched.Report, Job: one, First: i, Attempt: led.Job(one).Tasks[i].Attempt, Outcome: sched.Lost, Node: "n1", Losses: tasks}, &out)
			if (v == ledger.Later) != (round > 0) {
				t.Fatalf("round %d: verdict %d", round, v)
			}
		}
		for round > 0 && led.Job(one).Waiting > 0 {
			_, now, _ = led.NextAttempt(led.Job(one))
			due[now] = true
			for j, _ := led.Due(now, &out); j != nil; j, _ = led.Due(now, &out) {
			}
		}
		if round > 0 && len(due) != tasks {
			t.Errorf("round %d: %d tasks are due at %d times", round, tasks, len(due))
		}
	}
}
