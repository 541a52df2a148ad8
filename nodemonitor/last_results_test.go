package nodemonitor

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A node monitor that stops hands its last results to a frontend that was killed and is started
// again, at its address or, as a standby, at another that it announces.
func TestLastResultsWaitForTheirFrontend(t *testing.T) {
	for _, at := range []string{"its address", "another address"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, at == "another address")
			frontend := func(address string) (*server.Server, func() error) {
				s, err := server.New(wire.PeerProcessor(wire.PeerPorts{Reports: w}, w.codec), server.Options{Name: "frontend", Address: address, Security: servertest.Anybody()})
				if err != nil {
					t.Fatal(err)
				}
				stop := servertest.Run(t, s)
				return s, stop
			}
			s, kill := frontend("127.0.0.1:0")
			w.mu.Lock()
			w.frontendServer, w.ack = s, false
			w.mu.Unlock()
			n := w.start(nil)
			id := attemptOf(1, 0)
			n.deliver(w.launch(0, 0, id, sleepFor(time.Hour)))
			n.until("the task runs", func(o *owner) bool { return started(o) == 1 })
			if err := kill(); err != nil {
				t.Fatal(err)
			}
			stopped := make(chan error, 1)
			go func() { stopped <- n.stop() }()
			n.until("the frontend does not answer", func(o *owner) bool {
				list := o.results.Frontends()
				return len(list) > 0 && list[0].Failures > 0
			})
			w.update(func() { w.answer = &wire.ReportsReply{Sender: w.frontend.Name, Acknowledged: []sched.AttemptID{id}} }) // and no notice is answered
			address := s.Addr().String()
			if w.nats != nil {
				address = "127.0.0.1:0"
			}
			next, stop := frontend(address)
			if w.nats != nil {
				data, err := w.codec.Append(nil, &wire.Batch{Sender: w.frontend, Incarnation: 77, Address: next.Addr().String()})
				if err == nil {
					err = w.conn.Publish(notice.AnnouncementSubject(testCluster), data)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			select {
			case err := <-stopped:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(await.Limit):
				t.Fatal("the node monitor does not stop")
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if find(w.reports, sched.Report, id) == nil {
				t.Error("the frontend has not got the last result")
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Results that no frontend accepts while their node monitor is stopped in order are left to its next process,
// which reports them; the master waits for that, so that their tasks do not run again.
func TestLastResultsAreLeftToTheNextProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	n := w.start(nil)
	c := n.cfg
	w.update(func() { w.down = true })
	ended := []sched.AttemptID{attemptOf(1, 0), attemptOf(1, 1)}
	n.deliver(w.launch(0, 0, ended[0], shell("exit 9")))
	n.deliver(w.launch(1, 0, ended[1], sleepFor(time.Millisecond)))
	n.until("both have ended", func(o *owner) bool { return keptBy(o) == 2 })
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	w.update(func() {
		if last := w.snapshots[len(w.snapshots)-1]; last.Away == 0 || last.Stopping {
			t.Errorf("the master waits for %v, stopping: %v", last.Away, last.Stopping)
		}
		w.sequence, w.down = 0, false
	})
	next := w.run(c)
	receive(t, next.Ready())
	if h := w.lastHello(); !h.Complete || len(h.Continues) != 1 {
		t.Errorf("its hello continues %v, complete: %v", h.Continues, h.Complete)
	}
	for i, want := range []sched.Outcome{sched.Failed, sched.Done} {
		if it := w.result(ended[i]); it.Msg.Outcome != want {
			t.Errorf("attempt %v ended as %v, want %v", ended[i], it.Msg.Outcome, want)
		}
	}
}

// Under policies whose frontends bind tasks to workers, too; there the next process registers when frontends have
// accepted the results: one that learned of it before would take the attempts for lost.
func TestLastResultsOfBoundTasks(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"sparrow", "hawk", "eagle"} {
		t.Run(policy, func(t *testing.T) {
			w, f := newPeerWorld(t)
			w.node.Name = "n1"
			c := w.config(func(c *Config) { c.Policy = policy })
			n := w.run(c)
			receive(t, n.Ready())
			w.update(func() { w.down = true })
			id := attemptOf(1, 0)
			if policy == "sparrow" {
				f.probe(n, 0, 1)
				f.bind(n, 0, id, f.request(n, 0, 1), shell("exit 9"))
			} else {
				n.deliver(w.assign(n, 0, id, shell("exit 9")))
			}
			n.until("it has ended", func(o *owner) bool { return keptBy(o) == 1 })
			if err := n.stop(); err != nil {
				t.Fatal(err)
			}
			hellos := 0
			w.update(func() {
				hellos = len(w.hellos)
				if last := w.snapshots[len(w.snapshots)-1]; last.Away == 0 || last.Stopping || !last.Draining {
					t.Errorf("the master waits for %v, stopping: %v, draining: %v", last.Away, last.Stopping, last.Draining)
				}
				w.sequence = 0
			})
			next := w.run(c)
			next.until("the result is refused again", func(o *owner) bool {
				list := o.results.Frontends()
				return len(list) > 0 && list[0].Failures > 0
			})
			w.update(func() {
				if len(w.hellos) > hellos {
					t.Error("the next process registers before its results are accepted")
				}
				w.down = false
			})
			receive(t, next.Ready())
			if it := w.result(id); it.Msg.Outcome != sched.Failed || it.Exit != 9 {
				t.Errorf("the result is %+v", it)
			}
			if h := w.lastHello(); !h.Complete || len(h.Continues) != 1 {
				t.Errorf("its hello continues %v, complete: %v", h.Continues, h.Complete)
			}
		})
	}
}
