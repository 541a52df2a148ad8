package pigeon_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const idOne = "00000000000000000000000000000001"

// follower is a master that follows another one, with the messages it received first.
func follower(t tester, first ...*sched.Message) *rig {
	r := &rig{t: t, seq: map[int32]uint64{}, master: pigeon.NewMaster(sched.MasterConfig{Recover: true})}
	for _, m := range first {
		r.step(sched.Addr{}, m)
	}
	return r
}

func resent(first, count, attempt int32) *sched.Message {
	return &sched.Message{Kind: sched.Tasks, Job: jobOne, First: first, Count: count, Attempt: attempt, Distributor: distributor, Resent: true}
}

func up(id int32) *sched.Message {
	return &sched.Message{Kind: sched.WorkerUp, Peer: worker(id), Node: "n", Serves: []string{""}, Fixed: true}
}

func running(id, task, attempt int32) *sched.Message {
	m := up(id)
	m.Job, m.First, m.Attempt, m.Distributor = jobOne, task, attempt, distributor
	return m
}

func kept(id, task, attempt int32) *sched.Message {
	m := up(id)
	m.Kept = []sched.AttemptID{{Job: jobOne, Task: task, Attempt: attempt}}
	return m
}

func lost(id int32) *sched.Message {
	return &sched.Message{Kind: sched.WorkerLost, Peer: worker(id), Reason: "gone"}
}

// inDoubt lists the tasks that a master returned because an earlier one may have launched
// them: first+count#attempt.
func inDoubt(actions []sched.Action) (list []string) {
	for _, a := range actions {
		if m := &a.Msg; m.Kind == sched.Returned && m.Resent {
			list = append(list, fmt.Sprintf("%d+%d#%d", m.First, m.Count, m.Attempt))
		}
	}
	return list
}

// A master that follows another waits a second for the reports of its nodes; new tasks
// launch at once. Then it returns the tasks that it was sent again and that no node
// holds: only their distributor may number another attempt.
func TestResentTasksWaitForTheNodes(t *testing.T) {
	r := &rig{t: t, seq: map[int32]uint64{}, master: pigeon.NewMaster(sched.MasterConfig{Recover: true})}
	describe(t, r.step(sched.Addr{}, &sched.Message{Kind: sched.EpochIs, Epoch: 4}), "Timer at 1000000001 token=0")
	r.step(sched.Addr{}, up(0))
	want(t, "tasks sent again", launches(r.step(distributor, resent(0, 2, 1))))
	want(t, "a new task", r.tasks(2, sched.Short, 1), "0:2/0")
	if queued, _ := r.master.Job(jobOne); queued != 2 {
		t.Errorf("%d tasks wait, want 2", queued)
	}
	r.step(sched.Addr{}, up(1))
	want(t, "the end of the wait", inDoubt(r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout})), "0+2#1")
	want(t, "a timer that comes twice", inDoubt(r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout})))
	want(t, "tasks sent again later", inDoubt(r.step(distributor, resent(0, 2, 1))), "0+2#1")
	again := resent(0, 2, 2)
	again.Resent = false
	want(t, "as new attempts", launches(r.step(distributor, again)), "1:1/0")
	want(t, "an end", r.ends(0), "0:1/1")
}

// A task that a node runs, or has run and keeps the result of, is not returned,
// whichever comes first, the node's report or the frontend's. A later attempt is: it
// was created because the earlier one counted as lost. The reports of a node that is
// lost within the second do not count any more.
func TestResentTasksThatRunOrHaveEnded(t *testing.T) {
	for _, c := range []struct {
		name  string
		first []*sched.Message
		want  []string
	}{
		{"sent, then found running", []*sched.Message{resent(0, 3, 1), running(0, 1, 1)}, []string{"0+1#1", "2+1#1"}},
		{"found running, then sent", []*sched.Message{running(0, 1, 1), resent(0, 3, 1)}, []string{"0+1#1", "2+1#1"}},
		{"sent, then found kept", []*sched.Message{resent(0, 3, 1), kept(0, 1, 1)}, []string{"0+1#1", "2+1#1"}},
		{"found kept, then sent", []*sched.Message{kept(0, 1, 1), resent(0, 3, 1)}, []string{"0+1#1", "2+1#1"}},
		{"found kept, and its node lost", []*sched.Message{resent(0, 3, 1), kept(0, 1, 1), lost(0)}, []string{"0+3#1"}},
		{"an earlier attempt runs", []*sched.Message{resent(1, 1, 2), running(0, 1, 1)}, []string{"1+1#2"}},
		{"an earlier attempt is kept", []*sched.Message{resent(1, 1, 2), kept(0, 1, 1)}, []string{"1+1#2"}},
		{"dropped", []*sched.Message{resent(0, 3, 1), {Kind: sched.Drop, Job: jobOne, First: 0, Count: 2}}, []string{"2+1#1"}},
		{"cancelled", []*sched.Message{resent(0, 3, 1), {Kind: sched.Drop, Job: jobOne}}, nil},
		{"dropped, and asked for again", []*sched.Message{resent(0, 3, 1), {Kind: sched.Drop, Job: jobOne}, resent(2, 1, 2)}, []string{"2+1#2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := follower(t, c.first...)
			r.step(sched.Addr{}, up(1))
			r.step(sched.Addr{}, up(2))
			out := r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout})
			want(t, "the end of the wait", inDoubt(out), c.want...)
			want(t, "launched at the end of the wait", launches(out))
		})
	}
}

// What the shell keeps for the core (payloads) is kept while tasks wait apart.
func TestNothingIsForgottenThatWaits(t *testing.T) {
	r := follower(t, resent(0, 2, 1))
	for _, a := range r.step(sched.Addr{}, kept(0, 0, 1)) {
		if a.Kind == sched.Forget {
			t.Error("the job is forgotten while a task of it waits")
		}
	}
	back := &sched.Message{Kind: sched.Tasks, Job: jobOne, First: 5, Count: 1, Attempt: 1, Distributor: distributor, App: "nobody's"}
	describe(t, r.step(distributor, back), "Send to distributor 0: Returned job="+idOne+" tasks=5+1#1")
	describe(t, r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout}),
		"Send to distributor 0: Returned job="+idOne+" tasks=1+1#1 resent", "Forget job="+idOne, "Forget job="+idOne)
}

// A slot is sent its kind when it registers, whatever an earlier master sent it:
// otherwise a slot that is reserved by its own record would refuse long tasks forever.
func TestRegistrationTellsTheKind(t *testing.T) {
	r := follower(t, &sched.Message{Kind: sched.EpochIs, Epoch: 3})
	was := up(0)
	was.Fixed, was.Reserved = false, true
	var sent []sched.Message
	for _, a := range r.step(sched.Addr{}, was) {
		if a.Msg.Kind == sched.SetReserved {
			sent = append(sent, a.Msg)
		}
	}
	if len(sent) != 1 || sent[0].Reserved || sent[0].Epoch != 3 {
		t.Errorf("sent %v", sent)
	}
}

// A newer attempt replaces an older one that waits, and waits alongside one that
// runs.
func TestNewerAttempts(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(1, sched.Short, 3)
	tasks := func(first, count, attempt int32) []string {
		m := resent(first, count, attempt)
		m.Resent = false
		return launches(r.step(distributor, m))
	}
	want(t, "the message repeated", tasks(0, 3, 1))
	want(t, "a second attempt of all", tasks(0, 3, 2))
	if got := r.master.Queued(); got != 3 {
		t.Errorf("%d tasks wait, want 3", got)
	}
	want(t, "the first attempt repeated", tasks(0, 3, 1))
	r.step(sched.Addr{}, up(1))
	if got := r.master.Queued(); got != 2 {
		t.Errorf("%d tasks wait, want 2", got)
	}
	r.step(sched.Addr{}, running(2, 2, 1))
	if got := r.master.Queued(); got != 2 {
		t.Errorf("%d tasks wait, want 2: the first attempt that was found running is not the second", got)
	}
	r.step(sched.Addr{}, running(3, 2, 2))
	if got := r.master.Queued(); got != 1 {
		t.Errorf("%d tasks wait, want 1: the second attempt was found running", got)
	}
}

// A notice may be faster than the refusal that was sent before it. The task goes
// back to its distributor then.
func TestIdleOvertakesRefused(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(1, sched.Short, 1)
	r.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: 5})
	refused := &sched.Message{Kind: sched.Refused, Job: jobOne, Attempt: 1, Seq: 5}
	describe(t, r.step(worker(0), refused), "Send to distributor 0: Returned job="+idOne+" tasks=0+1#1")
	describe(t, r.step(worker(0), refused))
}

// docs/policies.md, pigeon: "one queue per class, each FIFO": tasks are served in the order in which
// they came here. By when their jobs came to the distributors they are sorted only for some seconds
// after a master has followed another one.
func TestFirstComeFirstServed(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.now = 100
	for job, arrival := range []sched.Time{90, 85, 80} {
		r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: uint64(job)}, Count: 1, Attempt: 1, Distributor: distributor, Arrival: arrival})
	}
	want(t, "the second", r.ends(0), "0:1/0")
	want(t, "the third", r.ends(0), "0:2/0")
}

// What waited at the former master comes again from each frontend in turn, and is sorted among what
// came before it. Five seconds later tasks are served in the order in which they come, as ever.
func TestFollowerSortsForSomeTime(t *testing.T) {
	r := follower(t, &sched.Message{Kind: sched.EpochIs, Epoch: 4}, up(0), resent(0, 1, 1))
	r.tasks(9, sched.Short, 1)
	r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout})
	tasks := func(job uint64, arrival sched.Time) {
		r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: job}, Count: 1, Attempt: 1, Distributor: distributor, Arrival: arrival})
	}
	tasks(2, 4)
	tasks(3, 2)
	r.now += 5 * sched.Second
	tasks(4, 6)
	tasks(5, 1)
	for _, next := range []string{"0:3/0", "0:2/0", "0:4/0", "0:5/0"} {
		want(t, "the next", r.ends(0), next)
	}
}

// Tasks that a master was sent again count for the bound of its queue while they wait for the nodes.
func TestResentTasksAreBounded(t *testing.T) {
	r := &rig{t: t, seq: map[int32]uint64{}, master: pigeon.NewMaster(sched.MasterConfig{Recover: true, MaxTasks: 5})}
	r.step(sched.Addr{}, &sched.Message{Kind: sched.EpochIs, Epoch: 4})
	r.step(distributor, resent(0, 4, 1))
	r.step(sched.Addr{}, up(0))
	describe(t, r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: jobTwo, Count: 2, Attempt: 1, Distributor: distributor}),
		`Send to distributor 0: Returned job=`+jobTwo.String()+` tasks=0+2#1 full`)
}

// A launch that came twice is refused twice. The second refusal arrives when the attempt has
// been launched at that slot again: it runs there, and must not be launched elsewhere under
// the same number.
func TestOldRefusal(t *testing.T) {
	r := newRig(t, 0, general(2))
	r.tasks(1, sched.Short, 2)
	refusal := func(seq uint64) *sched.Message {
		return &sched.Message{Kind: sched.Refused, Job: jobOne, Attempt: 1, Seq: seq}
	}
	idle := func(seq uint64) *sched.Message { return &sched.Message{Kind: sched.Idle, Seq: seq} }
	r.step(worker(0), refusal(1))
	want(t, "the notice", launches(r.step(worker(0), idle(2))), "0:1/0")
	r.step(worker(0), refusal(1))
	want(t, "nothing waits for the other", launches(r.step(worker(1), idle(2))))
	want(t, "a refusal of that launch", launches(r.step(worker(0), refusal(3))), "1:1/0")
}

// The second refusal of a former launch arrives when the attempt, launched at that slot again,
// has ended there. The attempt stays ended: it must not be returned to its distributor.
func TestOldRefusalAfterTheEnd(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(1, sched.Short, 1)
	refusal := &sched.Message{Kind: sched.Refused, Job: jobOne, Attempt: 1, Seq: 1}
	r.step(worker(0), refusal)
	want(t, "the notice", launches(r.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: 2})), "0:1/0")
	r.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: 3})
	describe(t, r.step(worker(0), refusal))
}

// A node dies with the results that were not acknowledged: the master reports the
// last attempts of its slots lost, also those that it knew only from the node.
func TestLostReports(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(1, sched.Short, 2)
	r.ends(0)
	describe(t, r.step(sched.Addr{}, lost(0)),
		"Send to distributor 0: AttemptLost job="+idOne+` tasks=1+0#1 node="n000" reason="gone"`, "Forget job="+idOne,
		"Send to distributor 0: AttemptLost job="+idOne+` tasks=0+0#1 node="n000" reason="gone"`, "Send to distributor -1: Serves serves=[]")

	f := follower(t, kept(0, 3, 1))
	describe(t, f.step(sched.Addr{}, lost(0)),
		"Send to distributor -1: AttemptLost job="+idOne+` tasks=3+0#1 node="n" reason="gone"`, "Send to distributor -1: Serves serves=[]")
}

// Older and repeated notices change nothing.
func TestOldNotices(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(1, sched.Short, 3)
	want(t, "the first end", r.ends(0), "0:1/1")
	for _, seq := range []uint64{0, 1, 2} {
		want(t, "an old notice", launches(r.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: seq})))
	}
	want(t, "the second end", r.ends(0), "0:1/2")
}

// docs/design.md, section 2, rule 4: "A refused task returns to the head of its
// queue", or goes to another idle worker; the slot that refused is used again after
// its notice.
func TestRefusedTasksComeFirst(t *testing.T) {
	r := newRig(t, 0, general(2))
	r.tasks(1, sched.Short, 4)
	refused := &sched.Message{Kind: sched.Refused, Job: jobOne, First: 0, Attempt: 1, Seq: 7}
	want(t, "a refusal", launches(r.step(worker(0), refused)))
	want(t, "the same again", launches(r.step(worker(0), refused)))
	want(t, "the end of the other", r.ends(1), "1:1/0")
	want(t, "the notice", launches(r.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: 7})), "0:1/2")
}
