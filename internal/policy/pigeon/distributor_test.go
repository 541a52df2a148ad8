package pigeon_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// frontend is a distributor with the actions of its last step.
type frontend struct {
	t      tester
	core   *pigeon.Distributor
	out    sched.Actions
	now    sched.Time
	timers []sched.Action // that were requested
}

// due steps the timeout for tasks that wait for their next attempt.
func (f *frontend) due() []sched.Action {
	f.t.Helper()
	return f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: ledger.NextDue})
}

func newFrontend(t tester, groups int) *frontend {
	f := &frontend{t: t, core: pigeon.NewDistributor(sched.DistributorConfig{Self: distributor, Seed: 1})}
	for g := range groups {
		f.up(int32(g), "")
	}
	return f
}

func group(id int32) sched.Addr { return sched.Addr{Role: sched.Master, ID: id} }

func (f *frontend) up(g int32, serves ...string) []sched.Action {
	return f.step(sched.Addr{}, &sched.Message{Kind: sched.MasterUp, Peer: group(g), Serves: serves})
}

func (f *frontend) step(from sched.Addr, m *sched.Message) []sched.Action {
	f.t.Helper()
	f.out.Reset()
	f.core.Step(f.now, from, m, &f.out)
	for _, a := range f.out.List() {
		if a.Kind == sched.Timer {
			f.timers = append(f.timers, a)
		}
	}
	if err := f.core.Valid(); err != nil {
		f.t.Fatalf("after %s: %v", sched.Describe(m), err)
	}
	return f.out.List()
}

// pass lets time pass and returns what the timers that are due did, in their order.
func (f *frontend) pass(d sched.Time) (did []sched.Action) {
	f.t.Helper()
	f.now += d
	due := f.timers
	f.timers = nil
	for _, a := range due {
		if a.At > f.now {
			f.timers = append(f.timers, a)
			continue
		}
		did = append(did, f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: a.Token})...)
	}
	return did
}

// sent returns the Tasks messages among actions, with their receivers.
func sent(actions []sched.Action) (list []sched.Action) {
	for _, a := range actions {
		if a.Kind == sched.Send && a.Msg.Kind == sched.Tasks {
			list = append(list, a)
		}
	}
	return list
}

// docs/policies.md, pigeon: "N groups, F tasks. A random permutation of the groups per
// job: the first F mod N get floor(F/N)+1 tasks, the others floor(F/N), as contiguous
// blocks of the task list in that order. Each group gets one message."
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, tasks := rapid.IntRange(1, 12).Draw(t, "groups"), rapid.Int32Range(1, 300).Draw(t, "tasks")
		f := newFrontend(t, n)
		key := rapid.Uint64().Draw(t, "key")
		got := sent(f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Key: key, Count: tasks}))
		perm := sched.Rand(1, key).Perm(n)
		if len(got) != min(n, int(tasks)) {
			t.Fatalf("%d messages for %d tasks and %d groups", len(got), tasks, n)
		}
		next := int32(0)
		for k, a := range got {
			share := tasks / int32(n)
			if int32(k) < tasks%int32(n) {
				share++
			}
			if a.To != group(int32(perm[k])) || a.Msg.First != next || a.Msg.Count != share || a.Msg.Attempt != 1 || a.Msg.Distributor != distributor {
				t.Fatalf("block %d: %s; want tasks %d+%d to master %d", k, sched.DescribeAction(&a), next, share, perm[k])
			}
			next += share
		}
		if next != tasks {
			t.Fatalf("%d of %d tasks were given out", next, tasks)
		}
	})
}

// Jobs differ in their permutation, and each group comes first about equally often.
func TestPermutationsAreUniform(t *testing.T) {
	const jobs, groups = 6000, 3
	f := newFrontend(t, groups)
	first := [groups]int{}
	for key := range uint64(jobs) {
		a := sent(f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: sched.JobID{Lo: key + 1}, Key: key, Count: 1}))
		first[a[0].To.ID]++
	}
	for g, n := range first { // 2000 +- 5 standard deviations of 36
		if n < 1820 || n > 2180 {
			t.Errorf("group %d came first %d times in %d", g, n, jobs)
		}
	}
}

// docs/design.md, section 3: "A job is split over the groups that have a live worker
// for its application (masters announce changes). With none, the frontend holds it".
func TestOnlyGroupsThatServe(t *testing.T) {
	f := newFrontend(t, 2)
	held := f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, App: "a", Count: 4})
	if got := sent(held); len(got) != 0 {
		t.Fatalf("sent to groups that do not serve them: %v", got)
	}
	got := sent(f.step(group(1), &sched.Message{Kind: sched.Serves, Serves: []string{"", "a"}}))
	if len(got) != 1 || got[0].To != group(1) || got[0].Msg.Count != 4 {
		t.Fatalf("sent %v", got)
	}
	back := sent(f.step(group(1), &sched.Message{Kind: sched.Returned, Job: jobOne, First: 1, Count: 3, Attempt: 1}))
	if len(back) != 0 {
		t.Fatalf("a group that returned tasks got %v at once", back)
	}
	f.step(group(1), &sched.Message{Kind: sched.Serves, Serves: []string{""}})
	if got = sent(f.up(2, "a")); len(got) != 1 || got[0].To != group(2) || got[0].Msg.First != 1 || got[0].Msg.Count != 3 {
		t.Fatalf("another group that serves them got %v", got)
	}
}

// docs/design.md, section 2, rule 3: "a master reports `AttemptLost`, and attempt n+1 goes
// to the head of its queue: at once after the first loss, later ones after 1, 2, 4 ... 30 s.";
// "A task fails when three distinct nodes were lost while they ran it, within ten minutes
// (`loss_window`)"
func TestLostAttempts(t *testing.T) {
	f := newFrontend(t, 1)
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 1})
	lost := func(attempt int32, node string) []sched.Action {
		return slices.Clone(f.step(group(0), &sched.Message{Kind: sched.AttemptLost, Job: jobOne, Attempt: attempt, Node: node, Reason: node + " died"}))
	}
	attempt := int32(1)
	for _, c := range []struct {
		node string
		wait sched.Time
	}{
		{"n1", 0}, {"n1", 1}, {"n1", 2}, {"n2", 4}, {"", 8}, {"n1", 16}, {"n2", 30}, {"n2", 30},
	} {
		got := lost(attempt, c.node)
		if again := lost(attempt, c.node); len(again) != 0 {
			t.Fatalf("the same loss of attempt %d, reported again, caused %v", attempt, again)
		}
		if c.wait > 0 {
			if got := sent(got); len(got) != 0 {
				t.Fatalf("attempt %d was sent at once: %v", attempt+1, got)
			}
			f.now += c.wait*sched.Second - 1
			if got := sent(f.due()); len(got) != 0 {
				t.Fatalf("attempt %d was sent before its time: %v", attempt+1, got)
			}
			f.now++
			got = slices.Clone(f.due())
		}
		attempt++
		if again := sent(got); len(again) != 1 || again[0].Msg.Attempt != attempt || !again[0].Msg.Head {
			t.Fatalf("attempt %d: %v", attempt, got)
		}
	}
	const reason = `reason="task 0 was lost with 3 nodes within 600 s, n1, n2 and n3, the last time because n3 died; it may be what ended them: look at their logs and at the memory the task needs, then submit it again (loss_window says for how long a loss counts)"`
	describe(t, lost(attempt, "n3"),
		"Persist TaskEnded job="+idOne+" tasks=0+0#9 failed "+reason,
		"Persist JobEnded job="+idOne+" failed "+reason,
		"Forget job="+idOne, "Send to master 0: Drop job="+idOne+" tasks=0+1#0")
}

// docs/design.md: "attempt n+1 goes to the head of its queue", after a loss and after a failure that
// is retried. docs/cores.md: a yielded one goes "not at the head", unless its node gave it back.
func TestNextAttemptsAtTheHead(t *testing.T) {
	for name, c := range map[string]struct {
		m    sched.Message
		head bool
	}{
		"failed":             {sched.Message{Kind: sched.Report, Outcome: sched.Failed}, true},
		"yielded":            {sched.Message{Kind: sched.Report, Outcome: sched.Yielded}, false},
		"withdrawn":          {sched.Message{Kind: sched.AttemptLost, Outcome: sched.Yielded, Node: "n"}, true},
		"lost with its node": {sched.Message{Kind: sched.AttemptLost, Outcome: sched.Lost, Node: "n"}, true},
	} {
		f := newFrontend(t, 1)
		f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 1, Retries: 1})
		c.m.Job, c.m.Attempt = jobOne, 1
		if got := sent(f.step(group(0), &c.m)); len(got) != 1 || got[0].Msg.Kind != sched.Tasks || got[0].Msg.Attempt != 2 || got[0].Msg.Head != c.head {
			t.Errorf("%s: sent %v, want attempt 2, at the head: %v", name, got, c.head)
		}
	}
}

// A loss is forgotten after the window, and taken back when the node reports that it still
// runs the attempt; a node that stops in order loses nothing.
func TestLossesThatDoNotCount(t *testing.T) {
	f := newFrontend(t, 1)
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 1})
	next := func(attempt int32) {
		t.Helper()
		f.now += 100 * sched.Second
		f.due()
		if task := f.task(0); task.Attempt != attempt || task.Waits {
			t.Fatalf("the task is %+v, want attempt %d", task, attempt)
		}
	}
	lost := func(attempt int32, node string) {
		f.step(group(0), &sched.Message{Kind: sched.AttemptLost, Job: jobOne, Attempt: attempt, Node: node, Reason: "it was silent"})
		next(attempt + 1)
	}
	lost(1, "n1")
	lost(2, "n2")
	describe(t, f.step(group(0), &sched.Message{Kind: sched.Holding, Job: jobOne, Attempt: 2}), "Persist NotLost job="+idOne+` node="n2"`)
	describe(t, f.step(group(0), &sched.Message{Kind: sched.Holding, Job: jobOne, Attempt: 2}))
	lost(3, "n3") // n1 and n3
	describe(t, f.step(worker(0), &sched.Message{Kind: sched.Report, Job: jobOne, Attempt: 3, Outcome: sched.Failed}), "Persist NotLost job="+idOne+` node="n3"`)
	for attempt := int32(4); attempt < 8; attempt++ {
		f.step(group(0), &sched.Message{Kind: sched.AttemptLost, Job: jobOne, Attempt: attempt, Node: "n4", Outcome: sched.Yielded, Reason: "its slot was withdrawn"})
		next(attempt + 1)
	}
	lost(8, "n5") // n1 is more than ten minutes ago
	lost(9, "n6")
}

// A task of a job that asks for at most one live copy waits after a loss until its node,
// cut off, has stopped the attempt. A loss that the node itself reports needs no such wait.
func TestAtMostOneLiveCopy(t *testing.T) {
	const limit = 20 * sched.Second
	loss := sched.Message{Kind: sched.AttemptLost, Job: jobOne, Attempt: 1, Node: "n1", Reason: "it was silent"}
	withdrawn := loss
	withdrawn.Outcome = sched.Yielded
	for name, c := range map[string]struct {
		m    sched.Message
		wait bool
	}{
		"lost":               {loss, true},
		"withdrawn":          {withdrawn, true},
		"group lost":         {sched.Message{Kind: sched.MasterLost, Peer: group(0)}, true},
		"reported lost":      {sched.Message{Kind: sched.Report, Job: jobOne, Attempt: 1, Node: "n1", Outcome: sched.Lost}, false},
		"reported withdrawn": {sched.Message{Kind: sched.Report, Job: jobOne, Attempt: 1, Node: "n1", Outcome: sched.Yielded}, false},
	} {
		f := newFrontend(t, 1)
		f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 1, MaxDisconnect: limit})
		got := sent(slices.Clone(f.step(group(0), &c.m)))
		if c.m.Kind == sched.MasterLost {
			got = append(got, sent(f.pass(4*sched.Second))...)
		}
		began := f.now
		if c.wait {
			if len(got) > 0 {
				t.Errorf("%s: sent %v at once", name, got)
			}
			got = sent(slices.Clone(f.up(0, "")))
			f.now = began + limit + 10*sched.Second - 1
			if got = append(got, sent(f.due())...); len(got) > 0 {
				t.Errorf("%s: sent %v too early", name, got)
			}
			f.now++
			got = sent(f.due())
		}
		if len(got) != 1 || got[0].Msg.Attempt != 2 {
			t.Errorf("%s: sent %v, want attempt 2", name, got)
		}
	}
}

// docs/design.md, section 2, rule 7: "Tasks of a group without a master for 5 s are taken
// back 4 s later and distributed again, with new numbers, except those that a node reports."
func TestMasterLost(t *testing.T) {
	f := newFrontend(t, 1)
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 2})
	f.up(1, "")
	got := sent(f.step(sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: group(0)}))
	if got = append(got, sent(f.pass(4*sched.Second-1))...); len(got) != 0 {
		t.Fatalf("before nodes could report: sent %v", got)
	}
	got = sent(f.pass(1))
	if len(got) != 1 || got[0].To != group(1) || got[0].Msg.Count != 2 || got[0].Msg.Attempt != 2 || got[0].Msg.Resent {
		t.Fatalf("sent %v", got)
	}
	if got = sent(f.up(0, "")); len(got) != 0 {
		t.Fatalf("the group got %v, which others have", got)
	}
	if got = sent(f.up(1, "")); len(got) != 1 || !got[0].Msg.Resent {
		t.Fatalf("a new master of the other group got %v", got)
	}
}

// A journal may name groups of which no message has arrived yet.
func TestRestoredBeforeItsMasters(t *testing.T) {
	f := newFrontend(t, 0)
	for _, m := range []sched.Message{
		{Kind: sched.Submit, Job: jobOne, Count: 3, Retries: 1, Resent: true},
		{Kind: sched.Placed, Job: jobOne, Count: 3, Attempt: 1, Peer: group(5)},
		{Kind: sched.TaskEnded, Job: jobOne, First: 1, Attempt: 1, Outcome: sched.Done},
		{Kind: sched.Placed, Job: jobOne, Count: 3, Attempt: 1, Peer: group(1 << 20)},
	} {
		f.step(sched.Addr{}, &m)
	}
	if got := f.up(5, ""); len(got) != 0 {
		t.Fatalf("a master got %v while the journal was read", got)
	}
	if got := sent(f.step(sched.Addr{}, &sched.Message{Kind: sched.Restored})); len(got) != 0 {
		t.Fatalf("a restarted distributor sent %v before anybody reported", got)
	}
	f.step(group(5), &sched.Message{Kind: sched.Holding})
	got := sent(f.pass(2 * sched.Second))
	if len(got) != 2 || got[0].Msg.First != 0 || got[1].Msg.First != 2 || got[0].Msg.Resent || got[0].Msg.Attempt != 2 {
		t.Fatalf("sent %v", got)
	}
	f = newFrontend(t, 0)
	for _, m := range []sched.Message{
		{Kind: sched.Submit, Job: jobOne, Count: 1, Retries: 1, Resent: true},
		{Kind: sched.Placed, Job: jobOne, Count: 1, Attempt: 1, Peer: group(5)},
		{Kind: sched.Restored},
		{Kind: sched.Report, Job: jobOne, Attempt: 1, Outcome: sched.Failed}, // to be tried again, its group unknown
		{Kind: sched.Cancel, Job: jobOne},
	} {
		f.step(sched.Addr{}, &m)
	}
	if f.core.Ledger().Jobs() != 0 {
		t.Error("the job continues")
	}
}

// A distributor that dies loses the records for which nothing waited, such as that
// of a new attempt which a master already has. Messages about that attempt after its
// restart count.
func TestAttemptsAheadOfTheJournal(t *testing.T) {
	for _, c := range []struct {
		name string
		m    sched.Message
	}{
		{"lost", sched.Message{Kind: sched.AttemptLost, Job: jobOne, Attempt: 2}},
		{"failed", sched.Message{Kind: sched.Report, Job: jobOne, Attempt: 2, Outcome: sched.Failed}},
	} {
		f := newFrontend(t, 1)
		f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 1, Retries: 1})
		f.step(group(0), &c.m)
		f.now = sched.Second
		if again := f.task(0); again.Attempt != 3 || again.Waits && len(sent(f.due())) != 1 {
			t.Errorf("%s: attempt 2 returns %v, want attempt 3", c.name, again)
		}
	}
	f := newFrontend(t, 1)
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 1})
	f.step(group(0), &sched.Message{Kind: sched.Returned, Job: jobOne, Count: 1, Attempt: 2})
	if again := sent(f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout})); len(again) != 1 || again[0].Msg.Attempt != 2 {
		t.Errorf("attempt 2 handed back returns %v, want it again", again)
	}
}

// A task that a group hands back late, when it is elsewhere already, is ignored.
func TestReturnedLate(t *testing.T) {
	f := newFrontend(t, 2)
	at := sent(f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 1}))[0].To
	other := group(1 - at.ID)
	back := &sched.Message{Kind: sched.Returned, Job: jobOne, Count: 1, Attempt: 1}
	if moved := sent(f.step(at, back)); len(moved) != 1 || moved[0].To != other {
		t.Fatalf("sent %v, want it at %s", moved, other)
	}
	if got := f.step(at, back); len(got) != 0 {
		t.Errorf("the same message again returns %v", got)
	}
}

// A single task that a full group, or the only one, returns is sent again after a pause, each time
// that it is returned: nothing else would bring it back.
func TestReturnedTaskIsSentAgain(t *testing.T) {
	for name, back := range map[string]sched.Message{
		"by a full group": {Full: true}, "by the only group": {}, "by a full group that started again": {Full: true, Resent: true},
	} {
		f := newFrontend(t, 1)
		f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 1})
		back.Kind, back.Job, back.Count, back.Attempt = sched.Returned, jobOne, 1, 1
		for range 3 {
			expectBlocks(t, "returned "+name, f.step(group(0), &back))
			expectBlocks(t, "before the pause has ended", f.pass(100*sched.Millisecond-1))
			if back.Resent {
				back.Attempt++
			}
			expectBlocks(t, "after the pause", f.pass(1), fmt.Sprintf("0:0+1#%d", back.Attempt))
		}
	}
}

// A process may die after the last result of a job was written and before its end
// was.
func TestRestoredJobsThatHaveEnded(t *testing.T) {
	f := newFrontend(t, 1)
	for _, m := range []sched.Message{
		{Kind: sched.Submit, Job: jobOne, Count: 1, Resent: true},
		{Kind: sched.Placed, Job: jobOne, Count: 1, Attempt: 1, Peer: group(0)},
		{Kind: sched.TaskEnded, Job: jobOne, Attempt: 1, Outcome: sched.Failed, Reason: "exit status 3"},
	} {
		f.step(sched.Addr{}, &m)
	}
	describe(t, f.step(sched.Addr{}, &sched.Message{Kind: sched.Restored}),
		"Persist JobEnded job="+idOne+` failed reason="exit status 3"`, "Forget job="+idOne)
}

// "a distributor that no longer wants it answers Drop": an attempt that a node was
// found running is let alone while its task has no result, whatever its number.
func TestHolding(t *testing.T) {
	f := newFrontend(t, 1)
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 2})
	f.step(worker(0), &sched.Message{Kind: sched.Report, Job: jobOne, First: 1, Attempt: 1, Outcome: sched.Done})
	holding := func(job sched.JobID, task int32) []sched.Action {
		return f.step(group(0), &sched.Message{Kind: sched.Holding, Job: job, First: task, Attempt: 1})
	}
	describe(t, holding(jobOne, 0))
	describe(t, holding(jobOne, 1), "Send to master 0: Drop job="+idOne+" tasks=1+1#0")
	describe(t, holding(sched.JobID{Lo: 9}, 4), "Send to master 0: Drop job="+sched.JobID{Lo: 9}.String()+" tasks=4+1#0")
}

// A number of a job's tasks are taken back: the last ones that have not ended, in
// one message for each range that a group holds. The others continue, and the job
// ends with them; later results of those taken back do not count.
func TestLessOfAJobIsWanted(t *testing.T) {
	f := newFrontend(t, 2)
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 8}) // four for each group
	end := func(task int32) []sched.Action {
		return f.step(sched.Addr{Role: sched.Worker}, &sched.Message{Kind: sched.Report, Job: jobOne, First: task, Attempt: 1, Outcome: sched.Done})
	}
	end(6)
	less := func(n int32) (drops []string) {
		for _, a := range f.step(sched.Addr{}, &sched.Message{Kind: sched.Cancel, Job: jobOne, Count: n}) {
			if a.Kind == sched.Send {
				drops = append(drops, fmt.Sprintf("%s %d+%d", a.Msg.Kind, a.Msg.First, a.Msg.Count))
			}
		}
		return drops
	}
	if got, want := less(4), []string{"Drop 7+1", "Drop 4+2", "Drop 3+1"}; !slices.Equal(got, want) {
		t.Fatalf("sent %v, want %v", got, want)
	}
	if j := f.core.Ledger().Job(jobOne); j == nil || j.Unfinished() != 3 {
		t.Fatalf("the job is %+v", j)
	}
	if got := end(7); len(got) != 0 {
		t.Errorf("the end of a task that was taken back returns %v", got)
	}
	end(0)
	end(1)
	if last := end(2); len(last) == 0 || f.core.Ledger().Jobs() != 0 {
		t.Errorf("the job continues: %v", last)
	}
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 2})
	if less(3); f.core.Ledger().Jobs() != 0 {
		t.Error("a job of which nothing is wanted continues")
	}
}
