package nodemonitor

import (
	"errors"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TestLaunchOvertakesNumbers: a launch that arrives before the answer to the hello, by which
// the workers are numbered, is neither refused nor dropped: its sender must repeat it.
// The link can be opened meanwhile, since the master answers the hello only then.
func TestLaunchOvertakesNumbers(t *testing.T) {
	for _, policy := range []string{"fifo", "priority", "hawk", "eagle", "kairos"} {
		t.Run(policy, func(t *testing.T) {
			w, _ := newPeerWorld(t)
			answering := make(chan struct{})
			w.update(func() { w.answering = answering })
			n := w.run(w.config(func(c *Config) { c.ID, c.Policy, c.Heartbeat = "n1", policy, time.Minute }))
			w.await("it has said hello", func() bool { return len(w.hellos) == 1 })
			n.deliver() // opens the link
			id := attemptOf(1, 0)
			it := w.assign(n, 0, id, sleepFor(0))
			switch policy {
			case "fifo", "priority":
				it = w.launch(0, 0, id, sleepFor(0))
			case "kairos":
				it = w.launch(0, 1, id, sleepFor(0))
			}
			b := &wire.Batch{Sender: w.master, Receiver: n.ref, Incarnation: w.incarnation, Epoch: w.epoch, Sequence: 2, Items: []wire.Item{it}}
			_, err := n.peer.Deliver(t.Context(), b)
			var busy *api.Error
			if !errors.As(err, &busy) || busy.Problem != api.Busy || busy.RetryAfter <= 0 || busy.Next == "" {
				close(answering)
				t.Fatalf("before its workers are numbered a launch is answered %v", err)
			}
			close(answering)
			receive(t, n.Ready())
			w.update(func() { w.sequence = 1 })
			n.deliver(it)
			if r := w.reported(id); r.Msg.Outcome != sched.Done {
				t.Errorf("report %s", sched.Describe(&r.Msg))
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.sentToMaster(sched.Refused)) > 0 {
				t.Errorf("the master was sent %v", kinds(w.linked))
			}
		})
	}
}
