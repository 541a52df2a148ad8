package nodes_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	configure "github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/policy/sparrow"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master/nodes"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group is the nodes of a group without a network: a link is up unless its peer is in
// unreachable.
type group struct {
	*nodes.Nodes
	now         sched.Time
	unreachable map[string]bool
	steps       []sched.Message
	adopted     []sched.JobID
	names       map[sched.JobID]string
	changes     int
}

func newGroup(p sched.Policy) *group {
	g := &group{unreachable: map[string]bool{}}
	g.Nodes = nodes.New(nodes.Config{
		Policy: p, LostAfter: 2 * time.Second, Addrs: addrmap.NewNumbered(), Core: g, Links: g, Jobs: g, Departed: protocol.NewDepartures(1, 1000),
		Changed: func() { g.changes++ }, Now: func() sched.Time { return g.now }, Log: slog.New(slog.DiscardHandler),
	})
	return g
}

func (g *group) Step(_ sched.Addr, m *sched.Message) { g.steps = append(g.steps, *m) }
func (g *group) StepShell(m *sched.Message)          { g.steps = append(g.steps, *m) }
func (g *group) Name(id sched.JobID) string          { return g.names[id] }
func (g *group) Adopt(id sched.JobID, _, _ string) {
	g.adopted = append(g.adopted, id)
}
func (g *group) Add(wire.Ref, string, int64) {}
func (g *group) Open(wire.Ref) error         { return nil }
func (g *group) Remove(wire.Ref)             {}
func (g *group) Up(peer wire.Ref) bool       { return !g.unreachable[peer.Name] }
func (g *group) kinds() (list []sched.Kind) {
	for i := range g.steps {
		list = append(list, g.steps[i].Kind)
	}
	g.steps = nil
	return list
}

// hello returns the hello of a node with one slot for each number; the slots claim the numbers,
// plus one.
func hello(name string, incarnation int64, address string, numbers ...int32) *wire.Hello {
	h := &wire.Hello{Sender: wire.Ref{Role: sched.Worker, Name: name}, Incarnation: incarnation, Address: address, Serves: []string{""}}
	for slot, number := range numbers {
		h.Slots = append(h.Slots, wire.Slot{Slot: int32(slot), Number: number, Seq: 1}) //nolint:gosec // few
	}
	return h
}

// The answer to a hello: of a new node, of one that is registered, of its next process,
// and of another node with its name.
func TestHello(t *testing.T) {
	for _, c := range []struct {
		name        string
		hello       *wire.Hello
		after       sched.Time
		unreachable bool
		problem     string
		kinds       []sched.Kind
	}{
		{"another node", hello("b", 1, "h:2", 0), 0, false, "", []sched.Kind{sched.WorkerUp}},
		{"the same again", hello("a", 1, "h:1", 0, 0), 0, false, "", nil},
		{"its next process", hello("a", 2, "h:1", 0), 0, false, "", []sched.Kind{sched.WorkerLost, sched.WorkerLost, sched.WorkerUp}},
		{"its next process elsewhere, at once", hello("a", 2, "h:3", 0), 0, false, `a node named "a" at h:1`, nil},
		{"the same, when the first is silent", hello("a", 2, "h:3", 0), 2 * sched.Second, false, "", []sched.Kind{sched.WorkerLost, sched.WorkerLost, sched.WorkerUp}},
		{"the same, when the first cannot be reached", hello("a", 2, "h:3", 0), 0, true, "", []sched.Kind{sched.WorkerLost, sched.WorkerLost, sched.WorkerUp}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(pigeon.Policy())
			if a, err := g.Hello(hello("a", 1, "h:1", 0, 0)); err != nil || a.Problem != "" {
				t.Fatalf("%+v, %v", a, err)
			}
			g.kinds()
			g.now, g.unreachable["a"] = c.after, c.unreachable
			a, err := g.Hello(c.hello)
			if err != nil || !strings.HasPrefix(a.Problem, c.problem) || (a.Problem == "") != (c.problem == "") {
				t.Errorf("answered %+v, %v", a, err)
			}
			if got := g.kinds(); !slices.Equal(got, c.kinds) {
				t.Errorf("the core received %v, want %v", got, c.kinds)
			}
		})
	}
}

// The jobs of what registering nodes hold are kept where a core forgets them later, and only
// there: under the other policies they would stay forever.
func TestAdoptedJobs(t *testing.T) {
	for policy, want := range map[string]int{"pigeon": 2, "fifo": 2, "sparrow": 0, "peacock": 0, "random": 0} {
		p, _, err := configure.Configure(policy, sched.Params{Cutoff: sched.Second})
		if err != nil {
			t.Fatal(err)
		}
		g := newGroup(p)
		h := hello("a", 1, "h:1", 0)
		h.Slots[0].Running = sched.AttemptID{Job: sched.JobID{Lo: 1}, Attempt: 1}
		h.Slots[0].Held = []wire.Held{{ID: sched.AttemptID{Job: sched.JobID{Lo: 2}, Attempt: 1}}}
		if a, err := g.Hello(h); err != nil || a.Problem != "" {
			t.Fatalf("%s: %+v, %v", policy, a, err)
		}
		if len(g.adopted) != want {
			t.Errorf("%s: the jobs %v are kept, want %d", policy, g.adopted, want)
		}
	}
}

// Where workers have numbers a node without them is refused for now, with when to try
// again, and one that claims numbers of others is refused for good.
func TestHelloWithNumbers(t *testing.T) {
	p := sparrow.Policy(sparrow.Defaults())
	for _, c := range []struct {
		name    string
		hello   *wire.Hello
		numbers []int32
		problem string
		retry   time.Duration
	}{
		{"a claim from an earlier master", hello("a", 1, "h:1", 7), []int32{7}, "", 0},
		{"a new slot beside it", hello("a", 1, "h:1", 7, 0), nil, "", time.Second},
		{"another process that claims the same", hello("b", 1, "h:2", 3), []int32{3}, `node "b" claims 1 number of a worker that another slot has by now, 2;`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(p)
			if a, err := g.Hello(hello("c", 1, "h:3", 3)); err != nil || !slices.Equal(a.Numbers, []int32{3}) {
				t.Fatalf("%+v, %v", a, err)
			}
			a, err := g.Hello(c.hello)
			busy, _ := errors.AsType[*api.Error](err)
			if (busy != nil) != (c.retry > 0) || busy != nil && (busy.RetryAfter != c.retry || busy.Next == "") {
				t.Errorf("the error is %v, want another try after %v", err, c.retry)
			}
			if !slices.Equal(a.Numbers, c.numbers) || !strings.HasPrefix(a.Problem, c.problem) || (a.Problem == "") != (c.problem == "") {
				t.Errorf("answered %+v", a)
			}
		})
	}
	g := newGroup(p)
	g.unreachable["a"] = true
	if _, err := g.Hello(hello("a", 1, "h:1", 0)); err == nil || g.Len() != 0 {
		t.Errorf("a node that cannot be reached is answered %v", err)
	}
}

// A node serves applications while its link is up, and is lost after a silence.
func TestReachability(t *testing.T) {
	g := newGroup(pigeon.Policy())
	if _, err := g.Hello(hello("a", 1, "h:1", 0)); err != nil {
		t.Fatal(err)
	}
	g.steps = nil
	a := wire.Ref{Role: sched.Worker, Name: "a"}
	for _, c := range []struct {
		status link.Status
		serves int
	}{{link.Down, 0}, {link.Up, 1}} {
		g.LinkState(a, link.State{Status: c.status})
		if last := g.steps[len(g.steps)-1]; last.Kind != sched.WorkerServes || len(last.Serves) != c.serves {
			t.Errorf("link %v: the core received %s", c.status, sched.Describe(&last))
		}
	}
	// A node is started again, at another address. That its former process cannot be reached is heard
	// after its registration.
	g.Restarted(a, 1)
	if answer, err := g.Hello(hello("a", 2, "h:2", 0)); err != nil || answer.Problem != "" {
		t.Fatal(answer, err)
	}
	g.steps = nil
	for _, status := range []link.Status{link.Down, link.Lost} {
		g.LinkState(a, link.State{Peer: 1, Status: status})
	}
	if len(g.steps) != 0 || g.Len() != 1 {
		t.Errorf("late states of the former process: the core received %v, and %d nodes are left", g.kinds(), g.Len())
	}
	if g.LinkState(a, link.State{Peer: 2, Status: link.Down}); len(g.steps) != 1 {
		t.Errorf("a state of the process itself: the core received %v", g.kinds())
	}
	g.Sweep()
	for range 4 {
		g.now += sched.Second / 2
		g.Sweep()
	}
	if g.Len() != 0 || g.steps[len(g.steps)-1].Kind != sched.WorkerLost {
		t.Errorf("%d nodes after two seconds of silence", g.Len())
	}
	if problem := g.Snapshot(&wire.Snapshot{Sender: a, Incarnation: 2}); problem == "" {
		t.Error("a lost node need not register again")
	}
}

// Results that do not reach their frontends are reported to the core when the node's list
// changes and now and then, and once more when none is left; a snapshot without lists
// changes nothing.
func TestKeptResults(t *testing.T) {
	g := newGroup(pigeon.Policy())
	if _, err := g.Hello(hello("a", 1, "h:1", 0, 0)); err != nil {
		t.Fatal(err)
	}
	id := sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: 2}, Task: 3, Attempt: 4}
	one, none := []sched.AttemptID{id}, []sched.AttemptID(nil)
	for i, c := range []struct {
		lists bool
		kept  []sched.AttemptID
		after sched.Time
		want  []int // results of each list that the core receives
	}{
		{true, none, 0, nil},
		{false, one, 0, nil},
		{true, one, 0, []int{1}},
		{true, one, sched.Second, nil},
		{false, none, sched.Second, nil},
		{true, one, 3 * sched.Second, []int{1}},
		{true, none, 0, []int{0}},
		{true, none, 10 * sched.Second, nil},
	} {
		g.steps = nil
		g.now += c.after
		s := &wire.Snapshot{Sender: wire.Ref{Role: sched.Worker, Name: "a"}, Incarnation: 1, ListsKept: c.lists, Slots: hello("a", 1, "h:1", 0, 0).Slots}
		s.Slots[1].Kept = c.kept
		if problem := g.Snapshot(s); problem != "" {
			t.Fatal(problem)
		}
		var got []int
		for _, m := range g.steps {
			if m.Kind == sched.ResultsKept {
				got = append(got, len(m.Kept))
				if m.Peer != (sched.Addr{Role: sched.Worker, ID: 1}) || len(m.Kept) > 0 && m.Kept[0] != id {
					t.Errorf("snapshot %d: the core received %s", i, sched.Describe(&m))
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("snapshot %d: the core received lists of %v, want %v", i, got, c.want)
		}
	}
}

// Restarts of nodes do not use the numbers of workers up, and no number is that of two
// workers at a time, under policies with one master and with groups.
func TestNumbersAreReused(t *testing.T) {
	for _, p := range []sched.Policy{pigeon.Policy(), sparrow.Policy(sparrow.Defaults())} {
		g := newGroup(p)
		live, highest := map[int32]bool{}, int32(0)
		for restart := range int64(3000) {
			g.now += sched.Second
			if a, err := g.Hello(hello(fmt.Sprint("n", restart%100), restart+1, "h:1", 0, 0)); err != nil || a.Problem != "" {
				t.Fatalf("%s: restart %d: %+v, %v", p.Name, restart, a, err)
			}
			for i := range g.steps {
				m := &g.steps[i]
				switch m.Kind {
				case sched.WorkerUp:
					if highest = max(highest, m.Peer.ID); live[m.Peer.ID] {
						t.Fatalf("%s: restart %d: number %d is that of two workers", p.Name, restart, m.Peer.ID)
					}
					live[m.Peer.ID] = true
				case sched.WorkerLost:
					delete(live, m.Peer.ID)
				}
			}
			g.steps = nil
		}
		if len(live) != 200 || highest >= 400 {
			t.Errorf("%s: %d workers have numbers up to %d", p.Name, len(live), highest)
		}
	}
}

// A node that was just started may be the first to register with a restarted master, which
// takes itself for the first one then. A living node that claims the numbers keeps them; the
// new one is lost, and refused when it says hello again. Later it has as much to lose as the
// claimant, and keeps its numbers.
func TestLivingNodeKeepsItsNumbers(t *testing.T) {
	for _, c := range []struct {
		name  string
		after sched.Time
		epoch uint64
		kept  bool
	}{{"at once", 0, 3, true}, {"soon", 29 * sched.Second, 3, true}, {"late", 30 * sched.Second, 3, false}, {"without an earlier master", 0, 0, false}} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(sparrow.Policy(sparrow.Defaults()))
			for range 2 { // the answer to the first was lost
				if a, err := g.Hello(hello("new", 1, "h:1", 0, 0)); err != nil || !slices.Equal(a.Numbers, []int32{1, 2}) {
					t.Fatalf("a new node is answered %+v, %v", a, err)
				}
			}
			g.kinds()
			g.now = c.after
			h := hello("living", 2, "h:2", 2, 3)
			h.Epoch = c.epoch
			a, err := g.Hello(h)
			if !c.kept {
				if err != nil || !slices.Equal(a.Numbers, []int32{2}) || a.Problem == "" || len(g.kinds()) > 0 {
					t.Errorf("answered %+v, %v", a, err)
				}
				return
			}
			if err != nil || a.Problem != "" || !slices.Equal(a.Numbers, []int32{2, 3}) {
				t.Fatalf("the living node is answered %+v, %v", a, err)
			}
			if got, want := g.kinds(), []sched.Kind{sched.WorkerLost, sched.WorkerLost, sched.WorkerUp, sched.WorkerUp}; !slices.Equal(got, want) {
				t.Errorf("the core received %v, want %v", got, want)
			}
			again := hello("new", 1, "h:1", 1, 2)
			again.Epoch = 4
			if a, err := g.Hello(again); err != nil || !slices.Equal(a.Numbers, []int32{2}) || a.Problem == "" || g.Len() != 1 {
				t.Errorf("the new node is answered %+v, %v", a, err)
			}
		})
	}
}

// The master waits for a node that is about to be started again for as long as it has announced,
// however it is missed; then it is lost. One that continues itself is like any other.
func TestNodeThatIsStartedAgain(t *testing.T) {
	sweeps := func(g *group, until sched.Time) {
		for ; g.now < until; g.now += sched.Second / 2 {
			g.Sweep()
		}
	}
	away := func(t *testing.T) *group {
		g := newGroup(pigeon.Policy())
		if a, err := g.Hello(hello("a", 1, "h:1", 0)); err != nil || a.Problem != "" {
			t.Fatalf("%+v, %v", a, err)
		}
		s := &wire.Snapshot{Sender: wire.Ref{Role: sched.Worker, Name: "a"}, Incarnation: 1, Slots: []wire.Slot{{}}, Away: 10 * time.Second}
		if problem := g.Snapshot(s); problem != "" {
			t.Fatal(problem)
		}
		g.LinkState(s.Sender, link.State{Status: link.Down})
		g.LinkState(s.Sender, link.State{Status: link.Lost})
		sweeps(g, 9*sched.Second)
		if kinds := g.kinds(); g.Len() != 1 || slices.Contains(kinds, sched.WorkerLost) {
			t.Fatalf("%d nodes are left, the core received %v", g.Len(), kinds)
		}
		return g
	}
	t.Run("it comes", func(t *testing.T) {
		g := away(t)
		h := hello("a", 2, "h:2", 0)
		h.Continues, h.Complete = []int64{1}, true
		a, err := g.Hello(h)
		if kinds := g.kinds(); err != nil || a.Problem != "" || !slices.Equal(kinds, []sched.Kind{sched.WorkerLost, sched.WorkerUp}) {
			t.Errorf("%+v, %v, the core received %v", a, err, kinds)
		}
		g.Sweep() // it is waited for no longer
		sweeps(g, 20*sched.Second)
		if g.Len() != 0 {
			t.Error("a silent node is not lost")
		}
	})
	t.Run("it does not come", func(t *testing.T) {
		g := away(t)
		sweeps(g, 12*sched.Second)
		if kinds := g.kinds(); g.Len() != 0 || !slices.Equal(kinds, []sched.Kind{sched.WorkerLost}) {
			t.Errorf("%d nodes are left, the core received %v", g.Len(), kinds)
		}
	})
	t.Run("it goes on", func(t *testing.T) {
		g := away(t)
		if problem := g.Snapshot(&wire.Snapshot{Sender: wire.Ref{Role: sched.Worker, Name: "a"}, Incarnation: 1, Slots: []wire.Slot{{}}}); problem != "" {
			t.Fatal(problem)
		}
		if kinds := g.kinds(); !slices.Contains(kinds, sched.WorkerServes) {
			t.Errorf("the core received %v", kinds)
		}
	})
}
