package nodemonitor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// TestMasterRestarts: no running attempt is lost, the new master learns everything, and
// messages of the old one that are still in transit are refused.
func TestMasterRestarts(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	runs, ended := attemptOf(1, 0), attemptOf(1, 1)
	w.update(func() { w.ack = false })
	n.deliver(w.launch(0, 0, runs, sleepFor(time.Hour)), w.launch(1, 0, ended, sleepFor(0)))
	w.await("one has ended", func() bool { return find(w.reports, sched.Report, ended) != nil })

	late := w.launch(1, 2, attemptOf(1, 2), sleepFor(0))
	w.update(func() { w.incarnation, w.epoch = 2000, 6 })
	w.await("the node introduces itself again", func() bool { return len(w.hellos) == 2 })
	n.until("it is registered", func(o *owner) bool { return epochOf(o) == 6 })
	w.mu.Lock()
	h := w.hellos[1]
	w.mu.Unlock()
	if h.Epoch != 5 || h.Incarnation != w.hellos[0].Incarnation {
		t.Errorf("hello has epoch %d and incarnation %d", h.Epoch, h.Incarnation)
	}
	if s := h.Slots[0]; s.Running != runs || s.Seq != 1 || s.Frontend != w.frontend || s.JobName != "job-"+runs.Job.String() || s.FrontendAddress == "" {
		t.Errorf("the busy slot is %+v", s)
	}
	if s := h.Slots[1]; s.Running.Attempt != 0 || s.Seq != 2 || !slices.Equal(s.Kept, []sched.AttemptID{ended}) {
		t.Errorf("the free slot is %+v", s)
	}
	n.deliver(late)
	w.await("the old master's launch is refused", func() bool {
		r := find(w.linked, sched.Refused, late.Msg.AttemptID())
		return r != nil && strings.Contains(r.Msg.Reason, "epoch is over")
	})
}

// TestHelloRefused: two nodes of one name. The refused one reports it, and repeats its
// hello.
func TestHelloRefused(t *testing.T) {
	w := newWorld(t, false)
	w.refuse = `a node named "n1" at 10.0.0.1:1 is registered in group 3 and alive`
	n := w.run(w.config(nil))
	w.await("it tries again", func() bool { return len(w.hellos) >= 3 })
	if status, body := n.get("/readyz"); status != 503 || !strings.Contains(body, w.refuse) {
		t.Errorf("/readyz is %d %q", status, body)
	}
	if status, _ := n.get("/healthz"); status != 200 {
		t.Errorf("/healthz is %d", status)
	}
	w.update(func() { w.refuse = "" })
	receive(t, n.Ready())
	if status, body := n.get("/readyz"); status != 200 {
		t.Errorf("/readyz is %d %q", status, body)
	}
	if status, body := n.get("/status"); status != 200 || !strings.Contains(body, `"registered":true`) || !strings.Contains(body, `"slots":[{"slot":0,`) {
		t.Errorf("/status is %d %s", status, body)
	}
}
