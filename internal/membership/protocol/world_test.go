package protocol

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// lostAfter is how long the daemons of the world may be silent, and tick its heartbeat.
const (
	lostAfter = 2 * second
	tick      = second / 2
)

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Fatalf(format string, args ...any)
}

// world is a master, nodes and frontends joined by a network that loses, repeats, delays
// and reorders messages, and any of which may be restarted. Every daemon consists only
// of the state machines of this package.
type world struct {
	t       failer
	now     sched.Time
	born    int64 // incarnations so far
	master  *masterProcess
	nodes   map[string]*nodeProcess
	readers map[string]*reader
	network []func() // messages in transit
}

// masterProcess is one life of the master.
type masterProcess struct {
	incarnation int64
	epoch       Epoch
	numbers     *Numbers
	nodes       *Registry
	frontends   *Registry
	now         membership // as it would be published now
	publication Publication
	pace        Pace
	published   membership
}

// membership is what a master publishes.
type membership struct {
	nodes     map[string]memberNode
	frontends map[string]int64
}

func newMembership() membership {
	return membership{nodes: map[string]memberNode{}, frontends: map[string]int64{}}
}

func (m membership) clone() membership {
	return membership{nodes: maps.Clone(m.nodes), frontends: maps.Clone(m.frontends)}
}

// memberNode is a node on a membership.
type memberNode struct {
	incarnation int64
	numbers     []int32
}

// nodeProcess is one life of a node.
type nodeProcess struct {
	name         string
	incarnation  int64
	registration Registration
	epoch        Epoch
	numbers      []int32 // of its slots, plus one; 0 before the first registration
	hellos       int     // sent so far, and snapshots
	ended        bool    // others have its numbers: it is started again
}

// reader is the state of one frontend process: the nodes of its membership.
type reader struct {
	name        string
	incarnation int64
	follower    Follower
	sessions    *Sessions
	list        membership // the last
	highest     Highest
	seen        []Position
	entered     map[Peer]int64 // each peer's last process
}

func newWorld(t failer) *world {
	w := &world{t: t, nodes: map[string]*nodeProcess{}, readers: map[string]*reader{}}
	w.startMaster()
	for _, name := range []string{"a", "b", "c"} {
		w.startNode(name)
	}
	for _, name := range []string{"x", "y"} {
		w.startReader(name)
	}
	return w
}

func (w *world) incarnation() int64 { w.born++; return w.born }

func (w *world) startMaster() {
	i := w.incarnation()
	w.master = &masterProcess{
		incarnation: i, numbers: NewNumbers(limit, rest), nodes: NewRegistry(lostAfter/SweepsToLoss, lostAfter),
		frontends: NewRegistry(lostAfter/SweepsToLoss, 5*lostAfter), now: newMembership(), published: newMembership(),
		publication: NewPublication(i, lostAfter, w.now),
	}
}

func (w *world) startNode(name string) {
	w.nodes[name] = &nodeProcess{name: name, incarnation: w.incarnation(), numbers: make([]int32, 2)}
}

func (w *world) startReader(name string) {
	w.readers[name] = &reader{
		name: name, incarnation: w.incarnation(), sessions: NewSessions(Patience{Frontend: second, NewMaster: 2 * second}),
		list: newMembership(), entered: map[Peer]int64{},
	}
}

// send puts a message on the network.
func (w *world) send(deliver func()) { w.network = append(w.network, deliver) }

// beat makes a node send what is due, and the master answer, both by the network.
func (w *world) beat(n *nodeProcess) {
	if n == nil {
		return // it is down
	}
	if n.ended {
		w.startNode(n.name)
		return
	}
	snapshot := n.registration.Registered()
	list, epoch := claims(n.numbers...), n.epoch
	n.hellos++
	number := n.hellos
	w.send(func() {
		m := w.master
		if snapshot {
			known := m.nodes.Heard(n.name, n.incarnation, w.now)
			w.send(func() {
				if n.registration.Registered() {
					n.registration.Answered(m.incarnation, known)
				}
			})
			return
		}
		if m.epoch.Raise(m.incarnation, epoch); epoch.Number > 0 {
			m.numbers.FollowsAnother(w.now)
		}
		accepted, a := m.hello(n, list, w.now)
		w.send(func() {
			if n.hellos == number { // a node waits for the answer to one, or has given it up
				n.answered(m, accepted, a)
			}
		})
	})
}

// hello registers a node.
func (m *masterProcess) hello(n *nodeProcess, list []Claim, now sched.Time) (bool, Assignment) {
	verdict := m.nodes.Classify(n.name, n.incarnation, n.name, lostAfter, now, true)
	switch verdict {
	case Restarted:
		m.lose(n.name, true, now)
	case Replaced:
		return false, Assignment{}
	}
	a := m.numbers.Assign(n.name, n.incarnation, list, now)
	if a.Numbers == nil {
		return false, a
	}
	m.numbers.Ended(n.name, n.incarnation)
	m.nodes.Enter(n.name, n.incarnation, n.name, now)
	if verdict != Renewed {
		m.now.nodes[n.name] = memberNode{n.incarnation, a.Numbers}
		m.pace.Changed()
	}
	return true, a
}

func (m *masterProcess) lose(name string, ended bool, now sched.Time) {
	if n, is := m.now.nodes[name]; is {
		m.numbers.ReleaseAll(name, n.incarnation, ended, now)
	}
	m.nodes.Remove(name, now)
	delete(m.now.nodes, name)
	m.pace.Changed()
}

// answered takes the answer to a hello.
func (n *nodeProcess) answered(m *masterProcess, accepted bool, a Assignment) {
	switch {
	case accepted && (n.numbers[0] == 0 || slices.Equal(n.numbers, a.Numbers)):
		n.numbers = a.Numbers
		n.registration.Accepted(m.incarnation)
		n.epoch.Observe(m.epoch)
	case len(a.Conflicts) > 0:
		n.ended = true
	}
}

// helloFrontend registers a frontend.
func (m *masterProcess) helloFrontend(r *reader, now sched.Time) {
	if m.frontends.Classify(r.name, r.incarnation, r.name, lostAfter, now, true) == Replaced {
		return
	}
	if m.frontends.Enter(r.name, r.incarnation, r.name, now) || m.now.frontends[r.name] != r.incarnation {
		m.now.frontends[r.name] = r.incarnation
		m.pace.Changed()
	}
}

// read makes a frontend send a hello to the master and request a newer membership.
func (w *world) read(r *reader) {
	if r == nil {
		return // it is down
	}
	highest, have := r.highest.At(w.now), r.follower.Position()
	w.send(func() {
		m := w.master
		m.helloFrontend(r, w.now)
		if m.numbers.Reserve(highest, w.now); m.publication.Held(have, w.now) > 0 {
			return
		}
		at, list := m.publication.Position(), m.published.clone()
		w.send(func() { r.take(w, have, at, list) })
	})
}

// take applies a membership, late as it may be.
func (r *reader) take(w *world, asked, at Position, list membership) {
	if !r.follower.Accept(asked, at) {
		return
	}
	r.seen, r.list = append(r.seen, at), list
	r.sessions.NewMaster(at.Incarnation, w.now)
	members, highest := map[Peer]int64{}, int32(0)
	for name, n := range list.nodes {
		members[Peer{sched.Worker, name}] = n.incarnation
		highest = max(highest, slices.Max(n.numbers))
	}
	r.highest.Observe(highest, w.now)
	for name, incarnation := range list.frontends {
		members[Peer{sched.Distributor, name}] = incarnation
	}
	named := map[Peer]bool{}
	for peer := range members {
		named[peer] = true
	}
	r.sessions.Retain(named, w.now)
	for peer, incarnation := range members {
		r.sessions.Enter(peer, incarnation)
		r.entered[peer] = incarnation
	}
}

// pass lets time pass, in which the daemons act.
func (w *world) pass(d sched.Time) {
	w.now += d
	w.probe()
	for _, name := range w.master.nodes.Sweep(w.now) {
		w.master.lose(name, false, w.now)
	}
	for _, name := range w.master.frontends.Sweep(w.now) {
		delete(w.master.now.frontends, name)
		w.master.pace.Changed()
	}
	w.master.pace.Elapsed()
	if publish, _ := w.master.pace.Next(5, w.now); publish {
		w.master.publication.Publish()
		w.master.published = w.master.now.clone()
	}
	for _, r := range w.readers {
		r.sessions.Expire(w.now)
	}
}

// probe makes the master call the registered daemons: where another process answers,
// the registered one is gone.
func (w *world) probe() {
	for name, n := range w.nodes {
		if member, is := w.master.now.nodes[name]; is && member.incarnation != n.incarnation {
			w.master.lose(name, true, w.now)
		}
	}
	for name, r := range w.readers {
		if i := w.master.now.frontends[name]; i != r.incarnation {
			w.master.frontends.Gone(name, i)
		}
	}
}

// deliver delivers one message and removes it, unless it is repeated.
func (w *world) deliver(at int, repeated bool) {
	message := w.network[at]
	if !repeated {
		w.network = slices.Delete(w.network, at, at+1)
	}
	message()
}

// check holds the invariants after every step.
func (w *world) check() {
	holders := map[int32]string{}
	for name, n := range w.master.now.nodes {
		for slot, number := range n.numbers {
			h := fmt.Sprintf("%s/%d of process %d", name, slot, n.incarnation)
			if other, taken := holders[number]; taken || number < 1 {
				w.t.Fatalf("number %d is that of %s and of %s", number-1, h, other)
			}
			holders[number] = h
		}
	}
	for _, r := range w.readers {
		r.check(w.t)
		w.checkView(r)
	}
}

// checkView checks that no number names two live workers in a frontend's view: those on its
// membership, by that and by the numbers that they have themselves from the same master. A
// master that has not heard of its predecessor in time may assign a number that a node has:
// that node is refused, and started again.
func (w *world) checkView(r *reader) {
	holders := map[int32]string{}
	enter := func(name string, incarnation int64, numbers []int32) {
		for slot, number := range numbers {
			h := fmt.Sprintf("%s/%d of process %d", name, slot, incarnation)
			if other, taken := holders[number]; taken && other != h && number > 0 {
				w.t.Fatalf("to frontend %s number %d is that of %s and of %s", r.name, number-1, h, other)
			}
			holders[number] = h
		}
	}
	for name, n := range r.list.nodes {
		enter(name, n.incarnation, n.numbers)
	}
	for name, n := range w.nodes {
		if listed, is := r.list.nodes[name]; is && listed.incarnation == n.incarnation && n.registration.master == r.follower.Position().Incarnation {
			enter(name, n.incarnation, n.numbers)
		}
	}
}

func (r *reader) check(t failer) {
	left := map[int64]bool{}
	for i := 1; i < len(r.seen); i++ {
		before, now := r.seen[i-1], r.seen[i]
		if before.Incarnation == now.Incarnation && now.Version <= before.Version {
			t.Fatalf("a follower went back from %v to %v", before, now)
		}
		if before.Incarnation != now.Incarnation {
			left[before.Incarnation] = true
		}
		if left[now.Incarnation] {
			t.Fatalf("a follower came back to master %d: %v", now.Incarnation, r.seen)
		}
	}
	for peer, last := range r.entered {
		for incarnation := range last + 3 {
			if got := r.sessions.Status(peer, incarnation); got == Current && incarnation != last || got == Superseded && incarnation == last {
				t.Fatalf("%v as %d is %v, and was entered last as %d", peer, incarnation, got, last)
			}
		}
		incarnation, listed := r.list.frontends[peer.Name]
		if peer.Role == sched.Worker {
			n, is := r.list.nodes[peer.Name]
			incarnation, listed = n.incarnation, is
		}
		if got := r.sessions.Status(peer, incarnation); listed && got != Current {
			t.Fatalf("%v is on the last membership as %d and is %v", peer, incarnation, got)
		}
	}
}

// calm lets every daemon call and be answered for a while, the late messages first.
func (w *world) calm() {
	for range 30 {
		for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
			w.beat(w.nodes[name])
		}
		for _, name := range slices.Sorted(maps.Keys(w.readers)) {
			w.read(w.readers[name])
		}
		for len(w.network) > 0 {
			w.deliver(0, false)
			w.check()
		}
		w.pass(tick)
	}
}

// checkAgreed checks that every frontend knows each live daemon, nodes by their numbers,
// and no other.
func (w *world) checkAgreed() {
	live := map[Peer]int64{}
	owners := map[int32]string{}
	for name, n := range w.nodes {
		live[Peer{sched.Worker, name}] = n.incarnation
		for _, number := range n.numbers {
			if other, taken := owners[number]; taken || number < 1 {
				w.t.Fatalf("in the end number %d is one of %s and of %s", number-1, name, other)
			}
			owners[number] = name
		}
	}
	for name, r := range w.readers {
		live[Peer{sched.Distributor, name}] = r.incarnation
	}
	for _, r := range w.readers {
		for peer, incarnation := range live {
			if got := r.sessions.Status(peer, incarnation); got != Current {
				w.t.Fatalf("%v says hello as %d, and frontend %s takes it for %v", peer, incarnation, r.name, got)
			}
			if peer.Role == sched.Worker && !slices.Equal(r.list.nodes[peer.Name].numbers, w.nodes[peer.Name].numbers) {
				w.t.Fatalf("%v has the numbers %v, frontend %s has read %v", peer, w.nodes[peer.Name].numbers, r.name, r.list.nodes[peer.Name].numbers)
			}
		}
		for peer, last := range r.entered {
			if live[peer] != last && r.sessions.Status(peer, last) == Current {
				w.t.Fatalf("%v is down, and frontend %s takes its process %d for current", peer, r.name, last)
			}
		}
	}
}

// steps are what may happen in a world.
func (w *world) steps() map[string]func(*rapid.T) {
	node := func(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node") }
	frontend := func(t *rapid.T) string { return rapid.SampledFrom([]string{"x", "y"}).Draw(t, "frontend") }
	arrive := func(t *rapid.T, repeated bool) {
		if len(w.network) > 0 {
			w.deliver(rapid.IntRange(0, len(w.network)-1).Draw(t, "message"), repeated)
		}
	}
	first := func() {
		if len(w.network) > 0 {
			w.deliver(0, false)
		}
	}
	return map[string]func(*rapid.T){
		"":               func(*rapid.T) { w.check() },
		"node speaks":    func(t *rapid.T) { w.beat(w.nodes[node(t)]) },
		"frontend reads": func(t *rapid.T) { w.read(w.readers[frontend(t)]) },
		"node speaks and reaches the master": func(t *rapid.T) {
			if n := w.nodes[node(t)]; n != nil && !n.ended {
				w.beat(n)
				w.deliver(len(w.network)-1, false)
			}
		},
		"frontend is answered, and the answer is under way": func(t *rapid.T) {
			if r := w.readers[frontend(t)]; r != nil {
				w.read(r)
				w.deliver(len(w.network)-1, false)
			}
		},
		"first arrives":   func(*rapid.T) { first() },
		"any arrives":     func(t *rapid.T) { arrive(t, false) },
		"any is repeated": func(t *rapid.T) { arrive(t, true) },
		"all arrive": func(*rapid.T) {
			for len(w.network) > 0 {
				first()
			}
		},
		"first is lost": func(*rapid.T) { w.network = w.network[min(1, len(w.network)):] },
		"time passes": func(t *rapid.T) {
			w.pass(sched.Time(rapid.IntRange(1, 8).Draw(t, "ticks")) * tick / 4)
		},
		"master restarts":   func(*rapid.T) { w.startMaster() },
		"node is down":      func(t *rapid.T) { delete(w.nodes, node(t)) },
		"node restarts":     func(t *rapid.T) { w.startNode(node(t)) },
		"frontend is down":  func(t *rapid.T) { delete(w.readers, frontend(t)) },
		"frontend restarts": func(t *rapid.T) { w.startReader(frontend(t)) },
	}
}

// TestWorld: whatever messages are lost, repeated, late or out of order and whatever daemons restart, the
// invariants hold, and once messages arrive again all agree.
func TestWorld(t *testing.T) { rapid.Check(t, liveWorld) }

func liveWorld(t *rapid.T) {
	w := newWorld(t)
	for range 4 {
		t.Repeat(w.steps())
	}
	w.calm()
	w.checkAgreed()
}

// FuzzWorld is TestWorld with steps that the fuzzer chooses.
func FuzzWorld(f *testing.F) { f.Fuzz(rapid.MakeFuzz(liveWorld)) }

// TestLateAnswer: an answer of the first master that arrives after one of the second does
// not lead a frontend back, wherever it stood when it asked.
func TestLateAnswer(t *testing.T) {
	for _, begun := range []bool{false, true} {
		w := newWorld(t)
		x := w.readers["x"]
		if begun {
			w.calm()
		}
		w.startNode("a")
		w.beat(w.nodes["a"])
		w.deliver(0, false) // the hello; its answer is in transit
		w.pass(tick)
		w.read(x)
		w.deliver(1, false) // the question
		late := w.network[len(w.network)-1]
		w.network = nil
		w.startMaster()
		w.pass(2 * lostAfter)
		w.calm()
		late()
		w.check()
		w.checkAgreed()
	}
}
