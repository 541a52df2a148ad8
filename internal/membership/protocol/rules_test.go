package protocol

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

const second = sched.Second

var (
	nodeA     = Peer{sched.Worker, "a"}
	frontendA = Peer{sched.Distributor, "a"}
)

func TestIncarnations(t *testing.T) {
	var h Incarnations
	for i := range int64(supersededKept + 3) {
		if !h.Enter(i + 1) {
			t.Errorf("process %d is not taken for another one", i+1)
		}
	}
	if h.Enter(h.Current()) {
		t.Error("the current process is taken for another one")
	}
	for _, c := range []struct {
		incarnation int64
		superseded  bool
	}{{1, false}, {2, false}, {3, true}, {supersededKept + 2, true}, {supersededKept + 3, false}, {99, false}} {
		if got := h.Superseded(c.incarnation); got != c.superseded {
			t.Errorf("process %d: superseded is %v, want %v", c.incarnation, got, c.superseded)
		}
	}
	h.Enter(4)
	if h.Superseded(4) || !h.Superseded(supersededKept+3) {
		t.Error("a process that is entered again is still superseded, or the one before it is not")
	}
}

// A follower accepts a newer membership only as the answer to its last request.
func TestFollowerNeverGoesBack(t *testing.T) {
	var f Follower
	for _, c := range []struct {
		asked, p Position
		newer    bool
	}{
		{Position{}, Position{0, 7}, false},
		{Position{}, Position{5, 1}, true},
		{Position{}, Position{4, 9}, false}, // a late answer, perhaps of an earlier master
		{Position{5, 1}, Position{5, 1}, false},
		{Position{5, 1}, Position{5, 4}, true},
		{Position{5, 1}, Position{5, 5}, false},
		{Position{5, 4}, Position{5, 3}, false},
		{Position{5, 4}, Position{8, 1}, true},
		{Position{5, 4}, Position{5, 9}, false},
		{Position{8, 1}, Position{0, 0}, false},
		{Position{8, 1}, Position{5, 9}, true}, // that master is the one that answers now
	} {
		before := f.Position()
		if got := f.Accept(c.asked, c.p); got != c.newer {
			t.Errorf("at %v, the answer %v to a question at %v is newer: %v, want %v", before, c.p, c.asked, got, c.newer)
		}
		if want := map[bool]Position{true: c.p, false: before}[c.newer]; f.Position() != want {
			t.Errorf("after %v the follower is at %v, want %v", c.p, f.Position(), want)
		}
	}
}

func TestEpochRises(t *testing.T) {
	const self = 7
	for _, c := range []struct {
		epoch, reported, want Epoch
	}{
		{Epoch{}, Epoch{}, Epoch{1, self}},
		{Epoch{}, Epoch{4, 3}, Epoch{5, self}},
		{Epoch{5, self}, Epoch{4, 3}, Epoch{5, self}},
		{Epoch{5, self}, Epoch{5, self}, Epoch{5, self}}, // this master answered with it
		{Epoch{5, self}, Epoch{5, 3}, Epoch{6, self}},    // by a predecessor that had the same
		{Epoch{5, self}, Epoch{9, 3}, Epoch{10, self}},
		{Epoch{5, self}, Epoch{sched.MaxEpoch, 3}, Epoch{sched.MaxEpoch, self}}, // forged, and no number follows it
	} {
		got := c.epoch
		if changed := got.Raise(self, c.reported); got != c.want || changed != (got != c.epoch) {
			t.Errorf("%v raised by %v is %v, changed: %v; want %v", c.epoch, c.reported, got, changed, c.want)
		}
	}
	seen := Epoch{3, 1}
	seen.Observe(Epoch{3, 2})
	if seen.Observe(Epoch{2, 2}); seen != (Epoch{3, 1}) {
		t.Errorf("a peer that had seen epoch 3 has now seen %v", seen)
	}
	if seen.Observe(Epoch{4, 2}); seen != (Epoch{4, 2}) {
		t.Errorf("a peer that was answered with epoch 4 has seen %v", seen)
	}
}

// A peer is lost after three hellos and the time, once, and may be lost again after an
// answer.
func TestContact(t *testing.T) {
	c, limits := NewContact(0), Limits{LostAfter: 5 * second, Hello: 9 * second}
	for i, want := range []struct {
		at          sched.Time
		first, lost bool
	}{{second, true, false}, {9 * second, false, false}, {10 * second, false, true}, {20 * second, false, false}} {
		if first, lost := c.Missed(limits, want.at); first != want.first || lost != want.lost {
			t.Errorf("miss %d: first %v, lost %v", i+1, first, lost)
		}
	}
	c.Answered(20 * second)
	for i := range 5 {
		at := 20*second + sched.Time(i+1)*second
		if _, lost := c.Missed(limits, at); lost != (i == 4) {
			t.Errorf("%v after an answer: lost is %v", at-20*second, lost)
		}
	}
}

// What the registry decides about a hello: of the one registered, of its successor, and
// of another process of the same name.
func TestRegistryClassifies(t *testing.T) {
	for _, c := range []struct {
		name        string
		incarnation int64
		address     string
		at          sched.Time
		reachable   bool
		want        Verdict
	}{
		{"b", 1, "here", second, true, New},
		{"a", 1, "here", second, true, Renewed},
		{"a", 2, "here", second, true, Restarted},
		{"a", 2, "there", second, true, Conflict},
		{"a", 2, "there", second, false, Restarted},
		{"a", 2, "there", 3 * second, true, Restarted},
	} {
		r := NewRegistry(second/2, 2*second)
		r.Enter("a", 1, "here", 0)
		if got := r.Classify(c.name, c.incarnation, c.address, 2*second, c.at, c.reachable); got != c.want {
			t.Errorf("%+v: verdict %v", c, got)
		}
	}
}

// A hello of a superseded process is late while the later process lives, and that of a
// process in whose place another one answers is not repeated forever.
func TestRegistryRemembersSuperseded(t *testing.T) {
	r := NewRegistry(second/2, 10*second)
	verdict := func(incarnation int64, at sched.Time, want Verdict) {
		t.Helper()
		if got := r.Classify("a", incarnation, "here", 2*second, at, true); got != want {
			t.Errorf("a hello of process %d: verdict %v, want %v", incarnation, got, want)
		}
	}
	r.Enter("a", 1, "here", 0)
	first := r.Registration("a")
	r.Enter("a", 1, "here", second)
	if r.Registration("a") != first || first == 0 || r.Registration("b") != 0 {
		t.Errorf("registration %d is now %d, without another process", first, r.Registration("a"))
	}
	r.Enter("a", 2, "here", second)
	if r.Registration("a") == first {
		t.Error("another process has the registration of the one before")
	}
	verdict(1, second, Replaced)
	verdict(2, second, Renewed)
	verdict(3, second, Restarted)
	r.Enter("a", 3, "here", second) // sent before 2 ended, arrived after its hello
	verdict(2, second, Replaced)
	r.Gone("a", 2)
	verdict(2, second, Replaced)
	r.Gone("a", 3)
	verdict(2, second, Restarted)
	r.Enter("a", 2, "here", second)
	verdict(3, second, Replaced)
	r.Sweep(2 * second)
	for at := 2 * second; at < 20*second; at += second / 2 {
		r.Sweep(at)
	}
	verdict(3, 20*second, Restarted) // nothing was heard of 2
	r.Enter("a", 2, "here", 20*second)
	r.Remove("a", 20*second)
	verdict(3, 20*second, New)
	r.Enter("a", 2, "here", 20*second)
	verdict(3, 20*second, Replaced)
	r.Remove("a", 30*second)
	if got := r.Forget(10*second, 39*second); got != nil || len(r.peers) != 1 {
		t.Errorf("%v is forgotten 9 s after it was removed", got)
	}
	if got := r.Forget(10*second, 40*second); !slices.Equal(got, []string{"a"}) || len(r.peers) != 0 {
		t.Errorf("%v is forgotten 10 s after a was removed, %d names are left", got, len(r.peers))
	}
}

// Silence is found by a sweep, once, and time in which no sweep ran does not count.
func TestRegistrySweeps(t *testing.T) {
	r := NewRegistry(second/2, 2*second)
	r.Enter("a", 1, "x", 0)
	r.Enter("b", 1, "y", 0)
	at := sched.Time(0)
	sweep := func(after sched.Time, want ...string) {
		t.Helper()
		at += after
		if got := r.Sweep(at); !slices.Equal(got, want) {
			t.Errorf("at %v the sweep finds %v, want %v", at, got, want)
		}
	}
	sweep(second / 2)
	sweep(100 * second) // the machine slept for 99.5 s
	if !r.Heard("a", 1, at) || r.Heard("a", 2, at) || r.Heard("c", 1, at) {
		t.Error("a process counts as registered that is not, or the other way round")
	}
	sweep(second / 2)
	sweep(second/2, "b")
	sweep(second / 2)
	if r.Enter("a", 1, "x", at) || !r.Enter("b", 1, "y", at) {
		t.Error("a process that was silent is not back, or one that was not is")
	}
	if r.Remove("b", at); r.Registered("b", 1) || !r.Registered("a", 1) {
		t.Error("of two one was removed")
	}
}

// A change is published at once after a quiet time, and later the more readers there are.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		readers int
		wait    sched.Time
	}{{0, paceLeast}, {5, paceLeast}, {100, 200 * sched.Millisecond}, {100_000, paceMost}} {
		var p Pace
		if publish, wait := p.Next(c.readers, 0); publish || wait != 0 {
			t.Errorf("%d readers: without a change: %v, %v", c.readers, publish, wait)
		}
		p.Changed()
		if publish, _ := p.Next(c.readers, 0); !publish {
			t.Errorf("%d readers: the first change is not published at once", c.readers)
		}
		p.Changed()
		if publish, wait := p.Next(c.readers, 0); publish || wait != c.wait {
			t.Errorf("%d readers: the second change: %v, after %v, want %v", c.readers, publish, wait, c.wait)
		}
		if publish, wait := p.Next(c.readers, c.wait); publish || wait != 0 {
			t.Errorf("%d readers: while a wait runs: %v, %v", c.readers, publish, wait)
		}
		p.Elapsed()
		if publish, _ := p.Next(c.readers, c.wait); !publish {
			t.Errorf("%d readers: the second change is not published after its wait", c.readers)
		}
	}
}

// Readers of an earlier master's membership wait until its daemons are here or lost.
func TestPublicationHolds(t *testing.T) {
	p := NewPublication(7, 2*second, 10*second)
	for _, c := range []struct {
		have Position
		at   sched.Time
		want sched.Time
	}{
		{Position{}, 10 * second, 0},
		{Position{7, 1}, 10 * second, 0},
		{Position{6, 9}, 10 * second, 2 * second},
		{Position{6, 9}, 11 * second, second},
		{Position{6, 9}, 13 * second, 0},
	} {
		if got := p.Held(c.have, c.at); got != c.want {
			t.Errorf("a reader at %v is held for %v at %v, want %v", c.have, got, c.at, c.want)
		}
	}
	if p.Publish(); p.Position() != (Position{7, 2}) {
		t.Errorf("after one change the position is %v", p.Position())
	}
}

// A missing peer leaves after the patience for its role, and after a change of masters
// not before that grace is over.
func TestSessionsPatience(t *testing.T) {
	for _, c := range []struct {
		patience       Patience
		newMaster      int64 // of the membership without them
		node, frontend sched.Time
	}{
		{Patience{}, 1, 0, 0},
		{Patience{Frontend: 5 * second}, 1, 0, 5 * second},
		{Patience{NewMaster: 2 * second}, 1, 0, 0},
		{Patience{NewMaster: 2 * second}, 2, 2 * second, 2 * second},
		{Patience{Node: 3 * second, NewMaster: 2 * second}, 2, 3 * second, 2 * second},
	} {
		s := NewSessions(c.patience)
		if s.NewMaster(1, 0) {
			t.Error("the first master succeeds another one")
		}
		s.Enter(nodeA, 1)
		s.Enter(frontendA, 1)
		if s.NewMaster(c.newMaster, 0) != (c.newMaster != 1) {
			t.Errorf("master %d after 1", c.newMaster)
		}
		var left []Peer
		for at := sched.Time(0); at <= 6*second; at += second / 2 {
			left = append(left, s.Retain(nil, at)...)
			for peer, leaves := range map[Peer]sched.Time{nodeA: c.node, frontendA: c.frontend} {
				want := map[bool]Status{true: Current, false: Unknown}[at < leaves]
				if got := s.Status(peer, 1); got != want {
					t.Errorf("%+v: %v is %v at %v, want %v", c, peer, got, at, want)
				}
			}
			if next, some := s.Next(); some && next != max(c.node, c.frontend) && at >= min(c.node, c.frontend) {
				t.Errorf("%+v: the next leaves at %v", c, next)
			}
		}
		if len(left) != 2 {
			t.Errorf("%+v: %v have left", c, left)
		}
	}
}

// The names of those that have left are remembered up to a bound.
func TestSessionsForget(t *testing.T) {
	s := NewSessions(Patience{})
	name := func(i int) Peer { return Peer{sched.Worker, string(rune(0x4e00 + i))} }
	for i := range departedKept + 10 {
		s.Enter(name(i), 1)
		s.Enter(name(i), 2)
		s.Retain(nil, 0)
	}
	if len(s.peers) != departedKept || len(s.departed) != departedKept {
		t.Errorf("%d names are remembered, %d of them as departed", len(s.peers), len(s.departed))
	}
	if s.Status(name(0), 1) != Unknown || s.Status(name(20), 1) != Superseded {
		t.Error("the longest gone is remembered, or one of the last is not")
	}
	if s.Enter(name(20), 2); len(s.departed) != departedKept-1 || s.Status(name(20), 2) != Current {
		t.Error("one that is back still counts as departed")
	}
}

// TestSessionsAgainstAHistory compares the table with the plain history of each name.
func TestSessionsAgainstAHistory(t *testing.T) {
	peers := []Peer{nodeA, {sched.Worker, "b"}, frontendA}
	rapid.Check(t, func(t *rapid.T) {
		s := NewSessions(Patience{})
		history := map[Peer][]int64{} // each process at its last entry
		member := map[Peer]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			peer := rapid.SampledFrom(peers).Draw(t, "peer")
			if rapid.Bool().Draw(t, "leaves") {
				s.Retain(map[Peer]bool{peers[0]: peer != peers[0], peers[1]: peer != peers[1], peers[2]: peer != peers[2]}, 0)
				member[peer] = false
			} else {
				incarnation := rapid.Int64Range(1, 14).Draw(t, "incarnation")
				h := history[peer]
				same := member[peer] && h[len(h)-1] == incarnation
				if changed := s.Enter(peer, incarnation); changed == same {
					t.Fatalf("entering %v as %d after %v: changed is %v", peer, incarnation, h, changed)
				}
				h = slices.DeleteFunc(h, func(old int64) bool { return old == incarnation })
				history[peer], member[peer] = append(h, incarnation), true
			}
			for _, p := range peers {
				for incarnation := range int64(15) {
					want, h := Unknown, history[p]
					switch at := slices.Index(h, incarnation); {
					case at >= 0 && at == len(h)-1 && member[p]:
						want = Current
					case at >= 0 && at < len(h)-1 && at >= len(h)-1-supersededKept:
						want = Superseded
					}
					if got := s.Status(p, incarnation); got != want {
						t.Fatalf("%v as %d is %v, want %v, after %v", p, incarnation, got, want, h)
					}
				}
			}
		}
	})
}

func TestRegistration(t *testing.T) {
	var r Registration
	if r.Registered() || r.Ever() {
		t.Error("a new node is registered")
	}
	r.Accepted(5)
	if !r.Unanswered() || r.Unanswered() || !r.Registered() || !r.Ever() {
		t.Error("a silent master ends the registration, or its silence begins twice")
	}
	if !r.Answered(5, true) || !r.Unanswered() {
		t.Error("a snapshot that was answered")
	}
	for _, answer := range []struct {
		master int64
		known  bool
	}{{6, true}, {5, false}} {
		if r.Accepted(5); r.Answered(answer.master, answer.known) || r.Registered() || !r.Ever() {
			t.Errorf("%+v leaves the node registered", answer)
		}
	}
}
