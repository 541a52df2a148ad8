package leaders_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a master that leads or not.
type fake struct {
	mu     sync.Mutex
	leads  bool   // set before the first call, as the others
	leader string // that a standby names
	hangs  bool   // it does not answer
	asked  int
	block  chan struct{}
	waits  chan struct{} // receives when a request for the membership has come
}

func (f *fake) count() int { f.mu.Lock(); defer f.mu.Unlock(); return f.asked }

func (f *fake) Hello(ctx context.Context, _ *wire.Hello) (wire.HelloReply, error) {
	f.mu.Lock()
	f.asked++
	hangs, leads, leader := f.hangs, f.leads, f.leader
	f.mu.Unlock()
	if hangs {
		<-f.block
	}
	return wire.HelloReply{Sender: addrmap.MasterRef(0), Accepted: leads, Standby: !leads, Leader: leader}, nil
}

func (f *fake) Snapshot(ctx context.Context, _ *wire.Snapshot) (wire.SnapshotReply, error) {
	r, err := f.Hello(ctx, nil)
	return wire.SnapshotReply{Known: r.Accepted, Standby: r.Standby, Leader: r.Leader}, err
}

func (f *fake) Membership(ctx context.Context, _ int64, _ uint64, _ time.Duration) (wire.Membership, error) {
	f.waits <- struct{}{}
	select {
	case <-f.block:
		return wire.Membership{}, errors.New("the test is over")
	case <-ctx.Done():
		return wire.Membership{}, ctx.Err()
	}
}

// serve starts masters and returns them with their addresses.
func serve(t *testing.T, n int) (list []*fake, addresses []string) {
	t.Helper()
	for range n {
		f := &fake{block: make(chan struct{}), waits: make(chan struct{}, 1)}
		s, err := server.New(wire.PeerProcessor(wire.PeerPorts{Registrar: f, Membership: f}, daemontest.Codec()), server.Options{Name: "master", Address: "127.0.0.1:0", Log: daemontest.Log(t), Security: servertest.Anybody()})
		if err == nil {
			err = s.Listen()
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		t.Cleanup(func() {
			close(f.block)
			stop()
			if err := errors.Join(<-done, s.Close()); err != nil {
				t.Error(err)
			}
		})
		list, addresses = append(list, f), append(addresses, s.Addr().String())
	}
	return list, addresses
}

func group(t *testing.T, addresses ...string) *leaders.Group {
	t.Helper()
	return groupOf(t, client.Options{}, addresses...)
}

func groupOf(t *testing.T, o client.Options, addresses ...string) *leaders.Group {
	t.Helper()
	o.Name = "master of group 0"
	g, err := leaders.New(strings.Join(addresses, leaders.Separator), o, daemontest.Codec())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func hello(t *testing.T, g *leaders.Group) (wire.HelloReply, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return g.Hello(ctx, &wire.Hello{Sender: wire.Ref{Role: sched.Worker, Name: "n"}})
}

// The one that leads is found, and called from then on.
func TestTheLeaderIsFound(t *testing.T) {
	list, at := serve(t, 3)
	list[2].leads = true
	g := group(t, at...)
	for range 3 {
		if r, err := hello(t, g); err != nil || !r.Accepted || g.Address() != at[2] {
			t.Fatalf("%+v, %v at %s", r, err, g.Address())
		}
	}
	if list[0].count() != 1 || list[1].count() != 1 || list[2].count() != 3 {
		t.Errorf("asked %d, %d and %d times", list[0].count(), list[1].count(), list[2].count())
	}
}

// The leader that a standby names is asked before the others.
func TestTheNamedLeaderIsAskedFirst(t *testing.T) {
	list, at := serve(t, 3)
	list[0].leader, list[2].leads = at[2], true
	if _, err := hello(t, group(t, at...)); err != nil || list[1].count() != 0 {
		t.Errorf("%v; the other standby was asked %d times", err, list[1].count())
	}
}

// A master that does not answer leaves time for the others, and one whose process has ended
// costs none.
func TestDeadMastersArePassedOver(t *testing.T) {
	list, at := serve(t, 3)
	list[1].hangs, list[2].leads = true, true
	g := group(t, "127.0.0.1:1", at[1], at[2])
	if _, err := hello(t, g); err != nil || g.Address() != at[2] {
		t.Errorf("%v at %s", err, g.Address())
	}
}

// While none leads the error says what each of them has answered.
func TestNobodyLeads(t *testing.T) {
	list, at := serve(t, 2)
	list[0].leader = at[1]
	_, err := hello(t, group(t, append(at, "127.0.0.1:1")...))
	if err == nil {
		t.Fatal("a leader was found")
	}
	for _, part := range []string{"master of group 0", "none of its masters", at[0] + ": a standby, which names " + at[1], at[1] + ": a standby, which knows of no leader", "127.0.0.1:1: "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

// A request that waits for another membership ends when another master leads.
func TestMembershipFollowsTheLeader(t *testing.T) {
	list, at := serve(t, 2)
	g := group(t, at...)
	answered := make(chan error)
	go func() {
		_, err := g.Membership(t.Context(), 1, 1, time.Minute)
		answered <- err
	}()
	<-list[0].waits
	g.Prefer("127.0.0.1:1") // no master of the group
	if g.Address() != at[0] {
		t.Errorf("at %s", g.Address())
	}
	g.Prefer(at[1])
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := g.Snapshot(ctx, &wire.Snapshot{Sender: wire.Ref{Role: sched.Worker, Name: "n"}}); err == nil {
		t.Error("a standby took a snapshot")
	}
	if err := <-answered; err == nil || g.Address() != at[1] {
		t.Errorf("%v at %s", err, g.Address())
	}
}

// A hello to a master that does not answer any more ends when another one announces itself, and
// is sent to that one.
func TestHelloFollowsTheLeader(t *testing.T) {
	list, at := serve(t, 2)
	list[0].hangs, list[1].leads = true, true
	g := group(t, at...)
	answered := make(chan error, 1)
	go func() {
		r, err := g.Hello(t.Context(), &wire.Hello{Sender: wire.Ref{Role: sched.Worker, Name: "n"}})
		if err == nil && !r.Accepted {
			err = errors.New("it is not accepted")
		}
		answered <- err
	}()
	await.Until(t, "the first master is asked", func() bool { return list[0].count() == 1 })
	g.Prefer(at[1])
	select {
	case err := <-answered:
		if err != nil || g.Address() != at[1] {
			t.Errorf("%v at %s", err, g.Address())
		}
	case <-time.After(time.Minute):
		t.Error("the hello still waits for the first master")
	}
}

// between is a context that calls then when it is asked for the first time whether it has ended: a
// search does so after it has read which master is the current one.
type between struct {
	context.Context
	once *sync.Once
	then func()
}

func (b between) Err() error {
	b.once.Do(b.then)
	return b.Context.Err()
}

// A master that announces itself between the choice of the one to call and the call is not missed.
func TestHelloFollowsTheLeaderThatAnnouncesItselfBeforeTheCall(t *testing.T) {
	list, at := serve(t, 2)
	list[0].hangs, list[1].leads = true, true
	g := groupOf(t, client.Options{CallTimeout: time.Hour}, at...)
	answered := make(chan error, 1)
	go func() {
		_, err := g.Hello(between{t.Context(), new(sync.Once), func() { g.Prefer(at[1]) }}, &wire.Hello{Sender: wire.Ref{Role: sched.Worker, Name: "n"}})
		answered <- err
	}()
	select {
	case err := <-answered:
		if err != nil || list[1].count() != 1 {
			t.Errorf("%v; the leader was asked %d times", err, list[1].count())
		}
	case <-time.After(time.Minute):
		t.Error("the hello still waits for the first master")
	}
}

func TestFault(t *testing.T) {
	for setting, part := range map[string]string{
		"a:1": "", "a:1/b:2": "", "[::1]:1/b:2": "", "a": `not "a"`, "a:1/b": `not "b" in "a:1/b"`, "a:1/": `not ""`, "a:1/a:1": "twice",
		strings.Repeat("a:1/", 9) + "a:1": "10 masters",
	} {
		if fault := leaders.Fault(setting); (part == "") != (fault == "") || !strings.Contains(fault, part) {
			t.Errorf("%q: %q, want %q", setting, fault, part)
		}
	}
	if fault := leaders.FaultOfGroups([]string{"a:1", "x"}); !strings.Contains(fault, "group 1") {
		t.Error(fault)
	}
}
