package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// dialPeer serves the ports over TCP and gives a client of them.
func dialPeer(t *testing.T, ports wire.PeerPorts, codec *wire.Codec) *wire.PeerClient {
	t.Helper()
	srv := servertest.Start(t, wire.PeerProcessor(ports, codec), server.Options{MaxFrame: wire.MaxBatchBytes, Security: servertest.Anybody()})
	return wire.NewPeerClient(pool(t, srv.Addr().String()), codec)
}

func TestPeerClient(t *testing.T) {
	fake, ctx := &fakePeer{}, context.Background()
	codec := wire.NewCodec(newNames(), at(0))
	c := dialPeer(t, wire.PeerPorts{Batches: fake, Reports: fake, Registrar: fake, Group: fake, Logs: fake, Input: fake, Drain: fake}, codec)

	dir := newNames()
	batch := launches(2, dir)
	for i := range batch.Items {
		batch.Items[i].Msg.Distributor = sched.Addr{} // the codec of this test has its own names
	}
	taken, err := c.Deliver(ctx, batch)
	must(t, err)
	equal(t, "delivered", taken, filled[wire.BatchReply]())
	equal(t, "batch", show(fake.batch), show(batch))

	reported, err := c.Reports(ctx, batch)
	must(t, err)
	equal(t, "reported", reported, filled[wire.ReportsReply]())

	hello := filled[wire.Hello]()
	hello.Sender = hello.Sender.Daemon() // daemons have no slot
	met, err := c.Hello(ctx, &hello)
	must(t, err)
	equal(t, "met", met, filled[wire.HelloReply]())
	equal(t, "hello", fake.hello, &hello)

	snapshot := filled[wire.Snapshot]()
	snapshot.Sender = snapshot.Sender.Daemon()
	seen, err := c.Snapshot(ctx, &snapshot)
	must(t, err)
	equal(t, "seen", seen, filled[wire.SnapshotReply]())
	equal(t, "snapshot", fake.snapshot, &snapshot)

	job := sched.NewJobID("f", "k")
	view, err := c.JobView(ctx, job, "app")
	must(t, err)
	equal(t, "view", view, filled[wire.JobView]())
	attempts, err := c.RunningAttempts(ctx, job, 5)
	must(t, err)
	equal(t, "attempts", attempts, []api.TaskStatus{filled[api.TaskStatus]()})
	running, err := c.RunningJobs(ctx, "f")
	must(t, err)
	equal(t, "running", running, filled[wire.RunningJobs]())
	state, err := c.MasterState(ctx)
	must(t, err)
	equal(t, "state", state, filled[api.MasterState]())
	forgotten, err := c.ForgetNode(ctx, "n1")
	must(t, err)
	equal(t, "forgotten", forgotten, true)
	owners, err := c.GroupOwners(ctx)
	must(t, err)
	equal(t, "owners", owners, filled[api.GroupOwners]())
	chunk, err := c.AttemptLog(ctx, filled[wire.AttemptLogRequest]())
	must(t, err)
	equal(t, "log", chunk, filled[wire.LogChunk]())
	piece := wire.Input{Offset: 3, Data: []byte{1}, Last: true, Wait: time.Second}
	input, err := c.AttemptInput(ctx, filled[sched.AttemptID](), piece)
	must(t, err)
	equal(t, "input", input, filled[wire.InputReply]())
	drained, err := c.Drain(ctx, filled[wire.DrainOrder]())
	must(t, err)
	equal(t, "drain", drained, filled[wire.DrainReply]())
	equal(t, "calls", fake.calls(), []string{
		"deliver", "reports", "hello", "snapshot", fmt.Sprintf("view %v app", job), fmt.Sprintf("attempts %v 5", job), "jobs of f", "state", "forget n1", "owners",
		fmt.Sprintf("log %+v", filled[wire.AttemptLogRequest]()), fmt.Sprintf("input %v %+v", filled[sched.AttemptID](), piece), fmt.Sprintf("drain %+v", filled[wire.DrainOrder]()),
	})
}

// A peer may not send messages that only the shell around a core sends, nor ones
// that cannot be read; nothing of such a batch reaches the daemon.
func TestDeliverRefuses(t *testing.T) {
	fake, ctx := &fakePeer{}, context.Background()
	codec := wire.NewCodec(newNames(), at(0))
	c := dialPeer(t, wire.PeerPorts{Batches: fake, Reports: fake, Registrar: fake}, codec)
	_, err1 := c.Deliver(ctx, oneItem(sched.Message{Kind: sched.Timeout}))
	_, err2 := c.Reports(ctx, oneItem(sched.Message{Kind: sched.Ended}))
	_, err3 := c.Hello(ctx, &wire.Hello{})
	_, err4 := c.Snapshot(ctx, &wire.Snapshot{Sender: node, Slots: []wire.Slot{{}, {Slot: -1}}})
	_, err5 := c.Deliver(ctx, oneItem(sched.Message{Kind: sched.Tasks, Count: -1})) // not even sent
	for err, want := range map[error]string{
		err1: "a peer may not send Timeout", err2: "a peer may not send Ended", err3: "does not name its sender", err4: "slot 2 of 2", err5: "outside the 100000",
	} {
		var e *api.Error
		if !errors.As(err, &e) || e.Problem != api.Invalid || !strings.Contains(e.What, want) || e.Next == "" {
			t.Errorf("%v, want %q", err, want)
		}
	}
	equal(t, "calls", len(fake.calls()), 0)
}

// A daemon that gets a call for another role refuses it with that reason.
func TestPortsNotServed(t *testing.T) {
	ctx := context.Background()
	c := dialPeer(t, wire.PeerPorts{}, wire.NewCodec(newNames(), at(0)))
	for name, call := range map[string]func() error{
		"deliver":  func() error { _, err := c.Deliver(ctx, oneItem(sched.Message{Kind: sched.Tasks})); return err },
		"reports":  func() error { _, err := c.Reports(ctx, oneItem(sched.Message{Kind: sched.Report})); return err },
		"hello":    func() error { _, err := c.Hello(ctx, &wire.Hello{Sender: node}); return err },
		"snapshot": func() error { _, err := c.Snapshot(ctx, &wire.Snapshot{Sender: node}); return err },
		"running":  func() error { _, err := c.RunningTasks(ctx, []sched.JobID{{}}); return err },
		"attempts": func() error { _, err := c.RunningAttempts(ctx, sched.JobID{}, 0); return err },
		"jobs":     func() error { _, err := c.RunningJobs(ctx, ""); return err },
		"view":     func() error { _, err := c.JobView(ctx, sched.JobID{}, ""); return err },
		"state":    func() error { _, err := c.MasterState(ctx); return err },
		"forget":   func() error { _, err := c.ForgetNode(ctx, ""); return err },
		"owners":   func() error { _, err := c.GroupOwners(ctx); return err },
		"roll":     func() error { _, err := c.Membership(ctx, 0, 0, 0); return err },
		"log":      func() error { _, err := c.AttemptLog(ctx, wire.AttemptLogRequest{}); return err },
		"drain":    func() error { _, err := c.Drain(ctx, wire.DrainOrder{}); return err },
	} {
		var e *api.Error
		if err := call(); !errors.As(err, &e) || !strings.Contains(e.What, "this daemon is no") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
