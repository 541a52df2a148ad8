package pigeon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s launches %v, want %v", what, got, want)
	}
}

// docs/policies.md, pigeon: "Short task: head of idle general, else head of idle
// reserved, else the short queue."
func TestShortTakesGeneralThenReservedThenQueues(t *testing.T) {
	r := newRig(t, 0, reserved(2), general(2))
	want(t, "a short job of five", r.tasks(1, sched.Short, 5), "2:1/0", "3:1/1", "0:1/2", "1:1/3")
	want(t, "the end of a reserved one", r.ends(1), "1:1/4")
}

// docs/policies.md, pigeon: "Long task: head of idle general, else the long queue."
func TestLongTakesGeneralOnly(t *testing.T) {
	r := newRig(t, 0, reserved(2), general(1))
	want(t, "a long job of two", r.tasks(1, sched.Long, 2), "2:1/0")
	want(t, "a short job", r.tasks(2, sched.Short, 1), "0:2/0")
	want(t, "the end of the general one", r.ends(2), "2:1/1")
}

// docs/policies.md, pigeon: "A worker turns idle: a reserved worker takes from the
// short queue only."
func TestReservedTakesShortOnly(t *testing.T) {
	r := newRig(t, 1, reserved(1), general(1))
	want(t, "one short and one long", append(r.tasks(1, sched.Long, 1), r.tasks(2, sched.Short, 1)...), "1:1/0", "0:2/0")
	r.tasks(3, sched.Long, 3)
	want(t, "the reserved one, with long tasks waiting", r.ends(0))
	want(t, "a short job then", r.tasks(4, sched.Short, 1), "0:4/0")
}

// docs/policies.md, pigeon: "Without such a task it joins the tail of its idle list."
// The head is the one that has been idle longest.
func TestIdleWorkersAreTakenInOrder(t *testing.T) {
	r := newRig(t, 0, general(3))
	want(t, "the first job", r.tasks(1, sched.Short, 3), "0:1/0", "1:1/1", "2:1/2")
	for _, id := range []int32{1, 2, 0} {
		want(t, "an end", r.ends(id))
	}
	want(t, "the next job", r.tasks(2, sched.Long, 3), "1:2/0", "2:2/1", "0:2/2")
}

// docs/policies.md, pigeon: "one queue per class, each FIFO".
func TestQueuesAreFIFO(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(1, sched.Short, 1)
	r.tasks(2, sched.Short, 2)
	r.tasks(3, sched.Short, 1)
	for _, next := range []string{"0:2/0", "0:2/1", "0:3/0"} {
		want(t, "an end", r.ends(0), next)
	}
}

// A job is of the class that its distributor sent last: its waiting tasks move to
// the tail of that queue.
func TestClassIsTheOneSaidLast(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.tasks(1, sched.Short, 1)
	r.tasks(2, sched.Short, 2)
	r.tasks(3, sched.Long, 1)
	r.tasks(4, sched.Short, 1)
	r.tasks(2, sched.Long, 1)
	for _, next := range []string{"0:4/0", "0:3/0", "0:2/0", "0:2/1"} {
		want(t, "an end", r.ends(0), next)
	}
}

// order runs one general worker with the given numbers of short and long tasks
// queued and returns the classes in the order in which it takes them, as s and l.
func order(t *testing.T, weight, short, long int) string {
	r := newRig(t, weight, general(1))
	r.tasks(1, sched.Short, 1)
	r.tasks(2, sched.Short, int32(short))
	r.tasks(3, sched.Long, int32(long))
	var b strings.Builder
	for range short + long {
		taken := r.ends(0)
		if len(taken) != 1 {
			t.Fatalf("W = %d: %v", weight, taken)
		}
		b.WriteByte("?sl"[taken[0][2]-'1'])
	}
	return b.String()
}

// docs/policies.md, pigeon: "of every W consecutive tasks that general workers take
// from the queues at least one is long while the long queue is not empty. With the
// short queue empty it takes a long task. ... W = 0 means infinite". The greedy rule
// takes the long one last.
func TestWeight(t *testing.T) {
	for _, c := range []struct {
		weight, short, long int
		want                string
	}{
		{0, 5, 2, "sssssll"},
		{1, 3, 2, "llsss"},
		{2, 3, 3, "slslsl"},
		{3, 7, 2, "sslsslsss"},
		{20, 25, 2, strings.Repeat("s", 19) + "l" + "ssssss" + "l"},
		{20, 40, 2, strings.Repeat("s", 19) + "l" + strings.Repeat("s", 19) + "l" + "ss"},
	} {
		if got := order(t, c.weight, c.short, c.long); got != c.want {
			t.Errorf("W = %d, %d short and %d long: %s, want %s", c.weight, c.short, c.long, got, c.want)
		}
	}
}

// docs/policies.md, pigeon: "c counts short tasks that general workers took from the
// queue while long ones waited": not those taken while none waited, nor those of
// reserved workers, nor those that found a worker idle.
func TestWeightCountsWhileLongWait(t *testing.T) {
	r := newRig(t, 3, general(1), reserved(1))
	r.tasks(1, sched.Short, 2)
	r.tasks(2, sched.Short, 20)
	for range 5 {
		r.ends(0)
	}
	r.tasks(3, sched.Long, 1)
	for range 4 {
		want(t, "the reserved worker", shorten(r.ends(1)), "1:2")
	}
	want(t, "the first after long came", shorten(r.ends(0)), "0:2")
	want(t, "the second", shorten(r.ends(0)), "0:2")
	want(t, "the third", shorten(r.ends(0)), "0:3")
}

// shorten leaves out the tasks' numbers.
func shorten(list []string) []string {
	for i := range list {
		list[i], _, _ = strings.Cut(list[i], "/")
	}
	return list
}

// docs/design.md, section 3: "an idle worker takes the first task, in the policy's
// order, of the applications that it serves"; a classic slot serves one application, a
// resident's slot serves the built-in backends too.
func TestEligibility(t *testing.T) {
	r := newRig(t, 0, general(1, "a"), general(1, "", "b"))
	want(t, "a job of b", r.tasksOf("b", 1, sched.Short, 2), "1:1/0")
	want(t, "a built-in job", r.tasks(2, sched.Short, 1))
	want(t, "a job of a", r.tasksOf("a", 3, sched.Long, 2), "0:3/0")
	want(t, "the end at the resident's slot", r.ends(1), "1:1/1")
	want(t, "the next", r.ends(1), "1:2/0")
	want(t, "the classic slot", r.ends(0), "0:3/1")
}

// docs/design.md, section 3: "When a long launch is due by W, the next general worker
// that serves a waiting long task takes it."
func TestDueLongWaitsForAWorkerThatServesIt(t *testing.T) {
	r := newRig(t, 2, general(1, ""), general(1, "a"))
	r.tasks(1, sched.Short, 1)
	r.tasksOf("a", 2, sched.Short, 1)
	r.tasks(3, sched.Short, 9)
	r.tasksOf("a", 4, sched.Long, 1)
	r.tasksOf("a", 5, sched.Short, 1)
	for i := range 3 {
		want(t, "the worker that does not serve it", r.ends(0), fmt.Sprintf("0:3/%d", i))
	}
	want(t, "the one that does", r.ends(1), "1:4/0")
}

// docs/design.md, section 3: "masters announce changes"; "tasks of a group that loses its
// last such worker are taken back".
func TestServesAndReturned(t *testing.T) {
	r := newRig(t, 0, general(1, ""))
	up := r.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerUp, Peer: worker(1), Node: "x", Serves: []string{"a"}, Fixed: true})
	describe(t, up, `Send to distributor -1: Serves serves=["" "a"]`)
	r.tasksOf("a", 1, sched.Long, 3)
	lost := r.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerLost, Peer: worker(1), Reason: "gone"})
	id := sched.JobID{Lo: 1}.String()
	describe(t, lost,
		`Send to distributor 0: AttemptLost job=`+id+` tasks=0+0#1 node="x" reason="gone"`,
		`Send to distributor -1: Serves serves=[""]`,
		`Send to distributor 0: Returned job=`+id+` tasks=1+2#1`,
		`Forget job=`+id)
	describe(t, r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 1}, App: "a", Count: 2, Attempt: 2, Distributor: distributor}),
		`Send to distributor 0: Returned job=`+id+` tasks=0+2#2`,
		`Forget job=`+id)
}

func describe(t *testing.T, actions []sched.Action, want ...string) {
	t.Helper()
	var got []string
	for i := range actions {
		got = append(got, sched.DescribeAction(&actions[i]))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A full queue accepts nothing more, and invites another try.
func TestFullQueueReturns(t *testing.T) {
	r := &rig{t: t, seq: map[int32]uint64{}, master: pigeon.NewMaster(sched.MasterConfig{MaxTasks: 5})}
	r.up(general(1))
	r.tasks(1, sched.Short, 4)
	id := sched.JobID{Lo: 2}.String()
	describe(t, r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 2}, Count: 3, Attempt: 1, Distributor: distributor}),
		`Send to distributor 0: Returned job=`+id+` tasks=0+3#1 full`, `Forget job=`+id)
	describe(t, r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 2}, Count: 2, Attempt: 1, Distributor: distributor}))
}
