package kairos

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// fixture is a master with nodes that the test speaks for.
type fixture struct {
	t   tester
	s   *Master
	now sched.Time
}

func newFixture(t tester, nodes int, o Options, recovers bool) *fixture {
	d := &fixture{t: t, s: NewMaster(sched.MasterConfig{Self: theMaster, Params: sched.Params{Cutoff: second}, Recover: recovers, MaxTasks: 50}, o)}
	for i := range nodes {
		d.up(int32(i), nil)
	}
	return d
}

func nodeAt(id int32) sched.Addr { return sched.Addr{Role: sched.Worker, ID: id} }

func (d *fixture) step(from sched.Addr, m *sched.Message) []sched.Action {
	d.t.Helper()
	var out sched.Actions
	d.s.Step(d.now, from, m, &out)
	if err := d.s.Valid(); err != nil {
		d.t.Fatalf("after %s: %v", sched.Describe(m), err)
	}
	return out.List()
}

// sent steps the master and lists what it sends: kind, receiver, job/task.
func (d *fixture) sent(from sched.Addr, m *sched.Message) string {
	d.t.Helper()
	var list []string
	for _, a := range d.step(from, m) {
		if a.Kind == sched.Send {
			list = append(list, fmt.Sprintf("%s>%d:%d/%d", a.Msg.Kind, a.To.ID, a.Msg.Job.Lo, a.Msg.First))
		}
	}
	return strings.Join(list, " ")
}

func (d *fixture) up(id int32, held *sched.AttemptID) string {
	m := &sched.Message{Kind: sched.WorkerUp, Peer: nodeAt(id), Node: fmt.Sprint("n", id), Serves: []string{""}}
	if held != nil {
		m.Job, m.First, m.Attempt, m.Distributor, m.Seq = held.Job, held.Task, held.Attempt, distributor, 7
	}
	return d.sent(sched.Addr{}, m)
}

func tasks(job uint64, count int32) *sched.Message {
	return &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: job}, Count: count, Attempt: 1, Distributor: distributor}
}

func of(kind sched.Kind, job uint64, task int32) *sched.Message {
	return &sched.Message{Kind: kind, Job: sched.JobID{Lo: job}, First: task, Attempt: 1}
}

// idleAt returns the notice that a task left a node after that many launches.
func idleAt(seq, job uint64, task int32) *sched.Message {
	m := of(sched.Idle, job, task)
	m.Seq = seq
	return m
}

// heartbeat returns a heartbeat in which the tasks of a job have attained the given seconds.
func heartbeat(seq, job uint64, services ...sched.Time) *sched.Message {
	m := &sched.Message{Kind: sched.Beat, Seq: seq, More: &sched.More{}}
	for i, s := range services {
		m.More.Slots = append(m.More.Slots, sched.Attained{ID: sched.AttemptID{Job: sched.JobID{Lo: job}, Task: int32(i), Attempt: 1}, Service: s * second})
	}
	return m
}

// "To nodes in order of fewest tasks (never more than N + Q), one task per node and
// round." Tasks are "placed at heartbeats and also at arrivals and completions".
func TestRounds(t *testing.T) {
	d := newFixture(t, 3, Options{Cores: 1, Extra: 2}, false)
	if got := d.sent(distributor, tasks(1, 2)); got != "Launch>0:1/0 Launch>1:1/1" {
		t.Fatalf("2 tasks: %s", got)
	}
	if got := d.sent(distributor, tasks(2, 5)); got != "Launch>2:2/0 Launch>0:2/1 Launch>1:2/2 Launch>2:2/3 Launch>0:2/4" {
		t.Fatalf("5 more: %s", got)
	}
	if got := d.sent(distributor, tasks(3, 4)); strings.Count(got, "Launch") != 2 || d.s.Queued() != 2 {
		t.Fatalf("4 more find room for 2: %s", got)
	}
	if got := d.sent(nodeAt(1), idleAt(9, 1, 1)); got != "Launch>1:3/2" {
		t.Errorf("a task ends: %s", got)
	}
	if got := d.sent(nodeAt(1), idleAt(9, 1, 1)); got != "" {
		t.Errorf("the same notice again: %s", got)
	}
}

// In a round the emptiest node gets one task, and not all until it is like the
// others.
func TestOneTaskPerNodeAndRound(t *testing.T) {
	d := newFixture(t, 2, Options{Cores: 1, Extra: 5}, false)
	d.step(distributor, tasks(1, 4))
	d.up(2, nil)
	if got := d.sent(distributor, tasks(2, 3)); got != "Launch>2:2/0 Launch>0:2/1 Launch>1:2/2" {
		t.Errorf("3 tasks: %s", got)
	}
}

// "Ties to the lowest variance of attained service."
func TestTies(t *testing.T) {
	d := newFixture(t, 2, Options{Cores: 1, Extra: 5}, false)
	d.step(distributor, tasks(1, 1)) // to 0
	d.step(distributor, tasks(2, 1)) // to 1
	d.step(distributor, tasks(1, 2)) // task 1 to 0: task 0 is known
	d.step(distributor, tasks(2, 2)) // task 1 to 1
	d.step(nodeAt(0), heartbeat(9, 1, 1, 9))
	d.step(nodeAt(1), heartbeat(9, 2, 5, 6))
	if got := d.sent(distributor, tasks(3, 1)); got != "Launch>1:3/0" {
		t.Errorf("%s, want the node whose tasks have attained 5 s and 6 s, not 1 s and 9 s", got)
	}
}

// "One FIFO queue. No estimates anywhere": neither class nor estimate count.
func TestFIFO(t *testing.T) {
	d := newFixture(t, 1, Options{Cores: 1, Extra: 1}, false)
	d.step(distributor, tasks(1, 2))
	long := tasks(2, 1)
	long.Class, long.Estimate = sched.Long, 1000*second
	d.step(distributor, long)
	d.step(distributor, tasks(3, 1))
	if got := d.sent(nodeAt(0), idleAt(9, 1, 0)); got != "Launch>0:2/0" {
		t.Errorf("%s, want the long job that came first", got)
	}
}

// A heartbeat makes up for a lost notice: a task that was launched before it and is
// not in it has ended. A launch that the node could not know of is left alone.
func TestHeartbeatHeals(t *testing.T) {
	d := newFixture(t, 1, Options{Cores: 1, Extra: 3}, false)
	d.step(distributor, tasks(1, 4))
	d.step(distributor, tasks(2, 1))
	if got := d.sent(nodeAt(0), heartbeat(3, 1, 1, 2, 3)); got != "" {
		t.Fatalf("the last launch is on its way: %s", got)
	}
	if got := d.sent(nodeAt(0), heartbeat(4, 1, 1, 2, 3)); got != "Launch>0:2/0" {
		t.Errorf("task 3 has ended: %s", got)
	}
}

// What is shown of a task's start follows from the service that its node reported; before the
// task has begun it is unknown.
func TestShownSince(t *testing.T) {
	d := newFixture(t, 1, Options{Cores: 1, Extra: 3}, false)
	d.step(distributor, tasks(1, 3))
	since := func() (list []sched.Time) {
		for _, v := range d.s.Share(sched.JobID{Lo: 1}, 9).Tasks {
			list = append(list, v.Since)
		}
		return list
	}
	if got := since(); !slices.Equal(got, []sched.Time{sched.Unknown, sched.Unknown, sched.Unknown}) {
		t.Errorf("before a heartbeat: %v", got)
	}
	d.now = 10 * second
	beat := heartbeat(3, 1, 4, 0, 0)
	beat.More.Slots[1].Running = true
	d.step(nodeAt(0), beat)
	if got := since(); !slices.Equal(got, []sched.Time{6 * second, 10 * second, sched.Unknown}) {
		t.Errorf("one that ran for 4 s, one that begins, and one that waits: %v", got)
	}
}

// A refused task goes to the head of the queue, and its node gets none until it has
// reported the tasks that it holds.
func TestRefused(t *testing.T) {
	d := newFixture(t, 2, Options{Cores: 1, Extra: 1}, false)
	d.step(distributor, tasks(1, 4))
	d.step(distributor, tasks(2, 1))
	refusal := of(sched.Refused, 1, 0)
	refusal.Seq = 9
	if got := d.sent(nodeAt(0), refusal); got != "" {
		t.Fatalf("a node that refuses gets %s", got)
	}
	if got := d.sent(nodeAt(1), idleAt(9, 1, 1)); got != "Launch>1:1/0" {
		t.Errorf("another has room: %s", got)
	}
	list := d.step(nodeAt(0), heartbeat(9, 3))
	if len(list) == 0 || list[len(list)-1].Msg.Seq != 10 {
		t.Errorf("the numbers do not go on from the node's: %v", list)
	}
}

// A node that holds tasks which the master does not know gets none until it has
// room: it would refuse every one.
func TestRefusedByAFullNode(t *testing.T) {
	d := newFixture(t, 1, Options{Cores: 1, Extra: 1}, false)
	d.step(distributor, tasks(1, 3))
	refusal := of(sched.Refused, 1, 1)
	refusal.Seq = 2
	d.step(nodeAt(0), refusal)
	if got := d.sent(nodeAt(0), heartbeat(2, 1, 1, 2)); got != "" {
		t.Fatalf("a full node gets %s", got)
	}
	if got := d.sent(nodeAt(0), heartbeat(2, 1, 1)); got != "Launch>0:1/1" {
		t.Errorf("a node with room gets %s", got)
	}
}

// A message about an earlier stay of the same attempt at the same node came twice.
func TestSameAttemptAgain(t *testing.T) {
	d := newFixture(t, 1, Options{Cores: 1, Extra: 1}, false)
	d.step(distributor, tasks(1, 1))
	d.step(nodeAt(0), idleAt(1, 1, 0))
	d.step(distributor, tasks(1, 1)) // came twice: launch number 2
	refusal := of(sched.Refused, 1, 0)
	refusal.Seq = 1
	d.step(nodeAt(0), idleAt(1, 1, 0))
	d.step(nodeAt(0), refusal)
	if n := d.s.node(nodeAt(0)); len(n.tasks) != 1 {
		t.Errorf("the node is taken to hold %d tasks, want 1", len(n.tasks))
	}
	d.step(nodeAt(0), idleAt(2, 1, 0))
	if got := d.sent(nodeAt(0), refusal); got != "" {
		t.Errorf("it has ended there, and the old refusal brings %s", got)
	}
}

// Workers lost = attempts lost; so may be what ended there last.
func TestNodeLost(t *testing.T) {
	d := newFixture(t, 2, Options{Cores: 1, Extra: 1}, false)
	d.step(distributor, tasks(1, 4))
	d.step(nodeAt(1), idleAt(9, 1, 1))
	lost := &sched.Message{Kind: sched.WorkerLost, Peer: nodeAt(1)}
	if got := d.sent(sched.Addr{}, lost); got != "AttemptLost>4:1/3 AttemptLost>4:1/1" {
		t.Errorf("a lost node: %s", got)
	}
	if got := d.sent(sched.Addr{}, lost); got != "" {
		t.Errorf("lost again: %s", got)
	}
	d.step(nodeAt(0), idleAt(9, 1, 0))
	d.now += 11 * second // its result may be acknowledged by now, and need not be
	d.step(distributor, tasks(2, 2))
	lost.Peer = nodeAt(0)
	if got := d.sent(sched.Addr{}, lost); got != "AttemptLost>4:1/2 AttemptLost>4:2/0 AttemptLost>4:1/0 Serves>-1:0/0 Returned>4:2/1" {
		t.Errorf("the last node is lost: %s", got)
	}
	if got := d.sent(distributor, tasks(3, 1)); got != "Returned>4:3/0" {
		t.Errorf("without nodes: %s", got)
	}
}

func TestTasksThatAreNotTaken(t *testing.T) {
	d := newFixture(t, 1, Options{Cores: 1, Extra: 1}, false)
	app := tasks(1, 1)
	app.App = "spark"
	if got := d.sent(distributor, app); got != "Returned>4:1/0" {
		t.Errorf("a task that cannot be suspended: %s", got)
	}
	if list := d.step(distributor, tasks(2, 51)); len(list) == 0 || !list[0].Msg.Full {
		t.Errorf("51 tasks where 50 may wait: %v", list)
	}
}

func TestDropAndDuplicates(t *testing.T) {
	d := newFixture(t, 1, Options{Cores: 1, Extra: 1}, false)
	d.step(distributor, tasks(1, 5))
	d.step(distributor, tasks(1, 5)) // came twice
	if d.s.Queued() != 3 {
		t.Fatalf("%d wait, want 3", d.s.Queued())
	}
	again := tasks(1, 1)
	again.First, again.Attempt, again.Head = 4, 2, true // a later attempt of one that waits
	d.step(distributor, again)
	if got := d.sent(nodeAt(0), idleAt(9, 1, 0)); got != "Launch>0:1/4" || d.s.Queued() != 2 {
		t.Errorf("%s and %d wait, want the later attempt, and 2", got, d.s.Queued())
	}
	if got := d.sent(distributor, of(sched.Drop, 1, 0)); got != "Kill>0:1/1 Kill>0:1/4" || d.s.Queued() != 0 {
		t.Errorf("drop: %s, and %d wait", got, d.s.Queued())
	}
}

// A master that follows another waits a second for what its nodes hold, and returns the
// rest: an earlier one may have launched it.
func TestRecovery(t *testing.T) {
	d := newFixture(t, 1, Options{Cores: 1, Extra: 5}, true)
	sent := tasks(1, 5)
	sent.Resent = true
	if got := d.sent(distributor, sent); got != "" {
		t.Fatalf("launches at once: %s", got)
	}
	if got := d.sent(distributor, tasks(2, 1)); got != "Launch>0:2/0" {
		t.Errorf("a new task waits, too: %s", got)
	}
	for _, task := range []int32{1, 2} { // announced once for each task
		held := &sched.AttemptID{Job: sched.JobID{Lo: 1}, Task: task, Attempt: 1}
		if got, want := d.up(3, held), fmt.Sprintf("Holding>4:1/%d", task); !strings.HasSuffix(got, want) {
			t.Errorf("a node that holds a task: %s, want %s", got, want)
		}
	}
	drop := of(sched.Drop, 1, 3)
	drop.Count = 1
	d.step(distributor, drop)
	if got := d.sent(sched.Addr{}, &sched.Message{Kind: sched.Timeout}); got != "Returned>4:1/0 Returned>4:1/4" {
		t.Errorf("after the second: %s", got)
	}
}

// The spread is n² variances, exactly.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []*placed
		sum, squares := new(big.Int), new(big.Int)
		for range rapid.IntRange(0, 12).Draw(t, "tasks") {
			x := rapid.Int64Range(0, maxService).Draw(t, "us")
			list = append(list, &placed{service: sched.Time(x) * sched.Microsecond})
			v := big.NewInt(x)
			sum.Add(sum, v)
			squares.Add(squares, new(big.Int).Mul(v, v))
		}
		want := new(big.Int).Mul(squares, big.NewInt(int64(len(list))))
		want.Sub(want, new(big.Int).Mul(sum, sum))
		s := spreadOf(list)
		got := new(big.Int).SetUint64(s.hi)
		got.Lsh(got, 64).Add(got, new(big.Int).SetUint64(s.lo))
		if got.Cmp(want) != 0 {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

// The ranking gives nodes in the order of a sort, whatever changed before.
func TestRankingAgainstSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ranking
		nodes := make([]*node, 12)
		for i := range nodes {
			nodes[i] = &node{addr: nodeAt(int32(i)), place: unranked}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "node")]
			r.remove(n)
			if rapid.IntRange(0, 3).Draw(t, "event") > 0 {
				n.tasks = make([]*placed, rapid.IntRange(0, 3).Draw(t, "tasks"))
				n.spread = spread{lo: rapid.Uint64Range(0, 2).Draw(t, "spread")}
				r.push(n)
			}
		}
		want := slices.Clone(r)
		slices.SortFunc(want, func(a, b *node) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		for _, n := range want {
			if r[0] != n {
				t.Fatalf("node %d is first, want %d", r[0].addr.ID, n.addr.ID)
			}
			r.remove(n)
		}
	})
}

// Waiting tasks of a distributor that has been silent for long are returned to it.
func TestDistributorAway(t *testing.T) {
	d := newFixture(t, 1, Options{Cores: 1, Extra: 1}, false)
	d.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 1}, Count: 6, Attempt: 1, Distributor: distributor})
	held, waits := d.s.nodes[0].tasks, d.s.Queued()
	if waits == 0 {
		t.Fatal("nothing waits")
	}
	got := d.step(sched.Addr{}, &sched.Message{Kind: sched.DistributorAway, Distributor: distributor})
	if len(got) != 1 || got[0].Msg.Kind != sched.Returned || int(got[0].Msg.Count) != waits || got[0].To != distributor {
		t.Errorf("of %d that wait: %v", waits, got)
	}
	if d.s.Queued() != 0 || len(d.s.nodes[0].tasks) != len(held) {
		t.Errorf("%d wait, %d are at the node, want 0 and %d", d.s.Queued(), len(d.s.nodes[0].tasks), len(held))
	}
}

// A node may have received a launch of an earlier master that this one does not know: its
// count of launches is then ahead, and a heartbeat makes the next launch look as if it
// had arrived and ended. The refusal that follows brings the task back to its distributor.
func TestRefusalAfterAHeartbeat(t *testing.T) {
	d := newFixture(t, 1, Options{Cores: 1, Extra: 5}, true)
	if got := d.sent(distributor, tasks(1, 1)); got != "Launch>0:1/0" {
		t.Fatal(got)
	}
	if got := d.sent(nodeAt(0), heartbeat(1, 2)); got != "" {
		t.Errorf("the heartbeat: %s", got)
	}
	refusal := of(sched.Refused, 1, 0)
	refusal.Seq = 1
	got := d.step(nodeAt(0), refusal)
	if len(got) == 0 || got[0].Msg.Kind != sched.Returned || !got[0].Msg.Resent || got[0].To != distributor {
		t.Errorf("the refusal: %v", got)
	}
	if got := d.sent(nodeAt(0), refusal); got != "" {
		t.Errorf("the refusal repeated: %s", got)
	}
}
