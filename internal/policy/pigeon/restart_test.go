package pigeon_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const secondLife = sched.AttemptsPerLife + 1

// restarted is a distributor in its second life, which has read a job of six tasks from
// its journal: 0 to 2 were placed with group 0, and 3 and 4 with group 1.
func restarted(t tester) *frontend {
	f := &frontend{t: t, core: pigeon.NewDistributor(sched.DistributorConfig{Self: distributor, Seed: 1, FirstAttempt: secondLife})}
	for _, m := range []sched.Message{
		{Kind: sched.Submit, Job: jobOne, Count: 6, Resent: true},
		{Kind: sched.Placed, Job: jobOne, Count: 3, Attempt: 1, Peer: group(0)},
		{Kind: sched.Placed, Job: jobOne, First: 3, Count: 2, Attempt: 1, Peer: group(1)},
		{Kind: sched.Restored},
	} {
		f.step(sched.Addr{}, &m)
	}
	return f
}

func holding(first, count, attempt int32) *sched.Message {
	return &sched.Message{Kind: sched.Holding, Job: jobOne, First: first, Count: count, Attempt: attempt}
}

func heldThere(tasks ...int32) *sched.Message {
	m := &sched.Message{Kind: sched.Held}
	for _, task := range tasks {
		m.Kept = append(m.Kept, sched.AttemptID{Job: jobOne, Task: task, Attempt: 1})
	}
	return m
}

// blocks describes the Tasks messages among actions: to:first+count#attempt.
func blocks(actions []sched.Action) (list []string) {
	for _, a := range sent(actions) {
		list = append(list, fmt.Sprintf("%d:%d+%d#%d", a.To.ID, a.Msg.First, a.Msg.Count, a.Msg.Attempt))
	}
	return list
}

func expectBlocks(t *testing.T, what string, actions []sched.Action, want ...string) {
	t.Helper()
	if got := blocks(actions); !slices.Equal(got, want) {
		t.Errorf("%s: sent %v, want %v", what, got, want)
	}
}

// A restarted distributor sends nothing again. Two seconds after a master's end marker
// the tasks of its group that no daemon holds get numbers of this life, and so do those
// for which the journal names no group. Another group's wait for their own master.
func TestRestartedDistributorAsks(t *testing.T) {
	f := restarted(t)
	expectBlocks(t, "at the master", f.up(0, ""))
	if got := f.step(group(0), holding(1, 2, 1)); len(got) != 0 {
		t.Errorf("a holding that is wanted caused %v", got)
	}
	expectBlocks(t, "at the end marker", f.step(group(0), &sched.Message{Kind: sched.Holding}))
	expectBlocks(t, "too early", f.pass(2*sched.Second-1))
	got := f.pass(1)
	expectBlocks(t, "two seconds later", got, fmt.Sprintf("0:0+1#%d", secondLife), fmt.Sprintf("0:5+1#%d", secondLife))
	if got[0].Msg.Kind != sched.NewAttempt || got[1].Msg.Head || got[1].Msg.Resent {
		t.Errorf("did %v", got)
	}
	expectBlocks(t, "a new job", f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobTwo, Count: 1, Attempt: secondLife}), fmt.Sprintf("0:0+1#%d", secondLife))
	f.step(sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: group(1)})
	expectBlocks(t, "the other master is lost", f.pass(4*sched.Second), fmt.Sprintf("0:3+2#%d", secondLife))
	expectBlocks(t, "a new master of the first", f.up(0, ""), fmt.Sprintf("0:0+1#%d", secondLife), "0:1+2#1", fmt.Sprintf("0:3+3#%d", secondLife), fmt.Sprintf("0:0+1#%d", secondLife))
}

// A master that never answers, because its version is older, does not keep tasks waiting
// forever.
func TestMasterThatDoesNotAnswer(t *testing.T) {
	f := restarted(t)
	f.up(1, "")
	expectBlocks(t, "before", f.pass(10*sched.Second-1))
	expectBlocks(t, "after", f.pass(1), fmt.Sprintf("1:3+2#%d", secondLife), fmt.Sprintf("1:5+1#%d", secondLife))
}

// A task that only workers report stays there while they keep reporting it.
func TestHeldByWorkersOnly(t *testing.T) {
	f := restarted(t)
	f.up(0, "")
	f.step(worker(7), heldThere(0, 5, 77))
	f.step(group(0), &sched.Message{Kind: sched.Holding})
	expectBlocks(t, "what nobody holds", f.pass(2*sched.Second), fmt.Sprintf("0:1+2#%d", secondLife))
	f.step(worker(7), heldThere(5))
	expectBlocks(t, "what is not reported again", f.pass(12*sched.Second), fmt.Sprintf("0:0+1#%d", secondLife))
	f.step(group(0), holding(5, 1, 1)) // the node has registered with the master
	expectBlocks(t, "what a master holds", f.pass(12*sched.Second))
	lost := &sched.Message{Kind: sched.AttemptLost, Job: jobOne, First: 5, Attempt: 1, Reason: "gone"}
	expectBlocks(t, "and loses", f.step(group(0), lost), fmt.Sprintf("0:5+1#%d", secondLife))
}

// Tasks that have ended, or belong to no job, are dropped in ranges; an attempt of an
// earlier submission of the same key is not, because a drop would name the present one.
func TestUnwantedHoldings(t *testing.T) {
	f := restarted(t)
	f.up(0, "")
	f.step(worker(1), &sched.Message{Kind: sched.Report, Job: jobOne, First: 1, Attempt: 1, Outcome: sched.Done})
	describe(t, f.step(group(0), holding(0, 3, 1)), "Send to master 0: Drop job="+idOne+" tasks=1+1#0")
	unknown := holding(2, 5, 1)
	unknown.Job = jobTwo
	describe(t, f.step(group(0), unknown), "Send to master 0: Drop job="+jobTwo.String()+" tasks=2+5#0")
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobTwo, Count: 4, Attempt: secondLife})
	describe(t, f.step(group(0), unknown), "Send to master 0: Drop job="+jobTwo.String()+" tasks=4+3#0")
}

// Tasks that a restarted master returns get one record for a range, and return to it in
// their order, behind the waiting tasks. Those of a full master are placed again later.
func TestReturnedInDoubt(t *testing.T) {
	f := newFrontend(t, 2)
	first := sent(f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 8}))[0]
	g, start := first.To, first.Msg.First
	f.step(g, &sched.Message{Kind: sched.AttemptLost, Job: jobOne, First: start + 1, Attempt: 1, Reason: "gone"})
	back := &sched.Message{Kind: sched.Returned, Job: jobOne, First: start, Count: 4, Attempt: 1, Resent: true}
	got := slices.Clone(f.step(g, back))
	expectBlocks(t, "returned", got, fmt.Sprintf("%d:%d+1#2", g.ID, start), fmt.Sprintf("%d:%d+2#2", g.ID, start+2))
	records := 0
	for _, a := range got {
		if a.Kind == sched.Persist {
			records++
		}
		if a.Msg.Kind == sched.Tasks && (a.Msg.Head || a.Msg.Resent) {
			t.Errorf("sent %s", sched.DescribeAction(&a))
		}
	}
	if records != 2 {
		t.Errorf("%d records", records)
	}
	if again := f.step(g, back); len(again) != 0 {
		t.Errorf("the message repeated caused %v", again)
	}
	back.Attempt, back.Full = 2, true
	expectBlocks(t, "returned by a full master", f.step(g, back))
	if got := sent(f.pass(100 * sched.Millisecond)); len(got) == 0 || got[0].Msg.Attempt != 3 {
		t.Errorf("later: %v", got)
	}
}

// A master lists the queued and running tasks of a restarted distributor, in ranges, and
// then reports the end of the list.
func TestOwnerUp(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(2, sched.Short, 1)
	r.tasks(1, sched.Short, 4)
	r.step(distributor, &sched.Message{Kind: sched.Drop, Job: jobOne, First: 2, Count: 1})
	other := &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 9}, Count: 1, Attempt: 1, Distributor: sched.Addr{Role: sched.Distributor, ID: 5}}
	r.step(other.Distributor, other)
	describe(t, r.step(sched.Addr{}, &sched.Message{Kind: sched.DistributorUp, Distributor: distributor}),
		"Send to distributor 0: Holding job="+idOne+" tasks=0+2#1", "Send to distributor 0: Holding job="+idOne+" tasks=3+1#1",
		"Send to distributor 0: Holding job="+jobTwo.String()+" tasks=0+1#1", "Send to distributor 0: Holding")
	describe(t, r.step(sched.Addr{}, &sched.Message{Kind: sched.DistributorUp, Distributor: worker(0)}))
}

// While the nodes report, a job's waiting tasks are those that none has reported.
func TestJobDuringTheWait(t *testing.T) {
	r := follower(t, resent(0, 4, 1), running(0, 2, 1), kept(1, 0, 1))
	if queued, running := r.master.Job(jobOne); queued != 2 || running != 1 {
		t.Errorf("%d tasks wait and %d run, want 2 and 1", queued, running)
	}
}

// A result that is kept for long is lost with its node, however long ago it came.
func TestResultsKept(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(1, sched.Short, 1)
	r.ends(0)
	id := sched.AttemptID{Job: jobOne, Attempt: 1}
	foreign := sched.AttemptID{Job: jobTwo, Attempt: 1}
	for range 3 {
		r.now += 6 * sched.Second
		r.step(sched.Addr{}, &sched.Message{Kind: sched.ResultsKept, Peer: worker(0), Kept: []sched.AttemptID{id, foreign, foreign}})
	}
	want(t, "sent again", inDoubt(r.step(distributor, resent(0, 2, 1))), "1+1#1")
	r.now += 6 * sched.Second
	describe(t, r.step(sched.Addr{}, lost(0)),
		"Send to distributor -1: AttemptLost job="+jobTwo.String()+` tasks=0+0#1 node="n000" reason="gone"`,
		"Send to distributor 0: AttemptLost job="+idOne+` tasks=0+0#1 node="n000" reason="gone"`, "Send to distributor -1: Serves serves=[]")
	r.step(sched.Addr{}, &sched.Message{Kind: sched.ResultsKept, Peer: worker(0), Kept: []sched.AttemptID{id}})
}

// A master that has answered for an attempt which ended here learns of the loss of its
// node only later, because it was paused: the result is lost all the same.
func TestLostAfterAPause(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(1, sched.Short, 1)
	r.ends(0)
	r.now += 9 * sched.Second
	want(t, "sent again", inDoubt(r.step(distributor, resent(0, 1, 1))))
	r.now += 30 * sched.Second
	describe(t, r.step(sched.Addr{}, lost(0)),
		"Send to distributor 0: AttemptLost job="+idOne+` tasks=0+0#1 node="n000" reason="gone"`, "Send to distributor -1: Serves serves=[]")
}

// Waiting tasks of a distributor that has been silent for long are returned to it, and
// others' tasks are launched; running ones continue.
func TestOwnerAway(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(1, sched.Short, 4)
	r.tasks(2, sched.Long, 2)
	other := &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 9}, Count: 1, Attempt: 1, Distributor: sched.Addr{Role: sched.Distributor, ID: 5}}
	r.step(other.Distributor, other)
	describe(t, r.step(sched.Addr{}, &sched.Message{Kind: sched.DistributorAway, Distributor: distributor}),
		"Send to distributor 0: Returned job="+idOne+" tasks=1+3#1",
		"Send to distributor 0: Returned job="+jobTwo.String()+" tasks=0+2#1", "Forget job="+jobTwo.String())
	want(t, "launched next", r.ends(0), "0:9/0")
	describe(t, r.step(sched.Addr{}, &sched.Message{Kind: sched.DistributorAway, Distributor: distributor}))
	describe(t, r.step(sched.Addr{}, &sched.Message{Kind: sched.DistributorAway, Distributor: worker(0)}))
}
