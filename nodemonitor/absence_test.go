package nodemonitor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TestAbsentFrontendBlocksNobody: at the limit of kept results a frontend that acknowledges
// none is refused, and another one runs its tasks; a slot that refused is offered again in
// turn when that frontend is silent.
func TestAbsentFrontendBlocksNobody(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*Config){
		"number": func(c *Config) { c.MaxResults = 1 },
		"bytes":  func(c *Config) { c.MaxResultBytes = 10 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			n := w.start(set)
			absent, second, other := attemptOf(1, 0), attemptOf(1, 1), attemptOf(2, 0)
			it := w.launchOf("absent", 0, 0, absent, shell("echo more than ten bytes >&2; exit 1"))
			n.deliver(it)
			n.until("its result is kept", func(o *owner) bool { return keptBy(o) == 1 })
			n.deliver(w.launchOf("absent", 1, 0, second, sleepFor(0)))
			w.await("its next is refused", func() bool {
				r := find(w.linked, sched.Refused, second)
				return r != nil && strings.Contains(r.Msg.Reason, `its limit (max_results`) && strings.Contains(r.Msg.Reason, `frontend "absent"`)
			})
			n.deliver(w.launch(0, 2, other, sleepFor(0)))
			w.await("the other's runs", func() bool { return find(w.reports, sched.Report, other) != nil })
			n.ahead(11 * sched.Second)
			w.await("the slot is offered again, to others", func() bool {
				free := last(w.linked)
				return free.Msg.Kind == sched.Idle && free.From.Slot == 1
			})
			// The other's result is kept until its acknowledgement has come.
			n.until("the result of the absent frontend alone is kept", func(o *owner) bool { return keptBy(o) == 1 && o.results.Find(absent) != nil })
		})
	}
}

// launchOf is launch with another frontend as owner, which no process serves.
func (w *world) launchOf(frontend string, slot int32, seq uint64, id sched.AttemptID, p api.Payload) wire.Item {
	it := w.launch(slot, seq, id, p)
	w.mu.Lock()
	defer w.mu.Unlock()
	it.Msg.Distributor, it.FrontendAddress = w.names.Addr(wire.Ref{Role: sched.Distributor, Name: frontend}), "127.0.0.1:1"
	return it
}

// TestAbsentFrontendIsForgotten: after frontend_forget its results and what waits for it are
// gone, and nothing of other frontends is.
func TestAbsentFrontendIsForgotten(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(func(c *Config) { c.FrontendForget = time.Hour })
	w.update(func() { w.ack = false })
	absent, other := attemptOf(1, 0), attemptOf(2, 0)
	n.deliver(w.launchOf("absent", 0, 0, absent, sleepFor(0)), w.launch(1, 0, other, sleepFor(0)))
	n.until("both are kept", func(o *owner) bool { return keptBy(o) == 2 })
	n.ahead(50 * sched.Time(time.Minute))
	before := len(w.reportsNow())
	w.await("the other frontend was heard since", func() bool { return len(w.reports) > before+1 })
	n.look(func(o *owner) {
		if keptBy(o) != 2 {
			t.Error("a result was forgotten before its time")
		}
	})
	n.ahead(15 * sched.Time(time.Minute))
	n.until("it is forgotten", func(o *owner) bool { return o.results.Find(absent) == nil })
	n.look(func(o *owner) {
		if o.results.Find(other) == nil {
			t.Error("a result of a frontend that answers was forgotten")
		}
		for _, f := range o.results.Frontends() {
			if (f.Forgotten > 0) != (f.Frontend == "absent") {
				t.Errorf("the status shows %+v", f)
			}
		}
	})
}

// ahead sets the owner's clock ahead, as if the node had run all that time: otherwise the
// jump is a pause of the node itself, which counts as the silence of no frontend. A heartbeat
// may be in the same batch of events.
func (n *testNode) ahead(by sched.Time) {
	n.look(func(o *owner) {
		o.clock = o.clock.Ahead(by)
		o.now = o.clock.Now()
		o.pauses = protocol.NewPauses(sched.Time(n.cfg.Heartbeat))
	})
}

// TestAbsentFrontendAtWorkersWithQueues: where launches are not denied one by one, those of a
// frontend that is silent and has no room end unstarted, and block no launch behind them;
// what waits for it is forgotten with its results.
func TestAbsentFrontendAtWorkersWithQueues(t *testing.T) {
	for _, policy := range []string{"hawk", "eagle", "kairos:cores=2,q=2,quantum=1h,heartbeat=20ms"} {
		t.Run(policy, func(t *testing.T) {
			w, _ := newPeerWorld(t)
			n := w.under(policy, func(c *Config) { c.MaxResults, c.FrontendForget, c.Slots = 3, time.Hour, 2 }, "n1")[0]
			launched := uint64(0)
			assign := func(frontend string, id sched.AttemptID, p api.Payload) wire.Item {
				it := w.assign(n, 0, id, p)
				if strings.HasPrefix(policy, "kairos") {
					launched++
					it = w.assignKairos(n, launched, id, p)
				}
				if frontend != "" {
					absent := w.launchOf(frontend, 0, 0, id, p)
					it.Msg.Distributor, it.FrontendAddress = absent.Msg.Distributor, absent.FrontendAddress
				}
				return it
			}
			for task := range int32(3) {
				n.deliver(assign("absent", attemptOf(1, task), sleepFor(0)))
			}
			n.until("its results are at the limit", func(o *owner) bool { return keptBy(o) == 3 })
			n.ahead(11 * sched.Second)
			n.until("it is silent", func(o *owner) bool {
				absent := o.addrs.Addr(wire.Ref{Role: sched.Distributor, Name: "absent"})
				return o.full.Load().Refuses(absent, false) && !o.full.Load().Refuses(absent, true)
			})
			unstarted, other := attemptOf(1, 3), attemptOf(2, 0)
			n.deliver(assign("absent", unstarted, sleepFor(time.Hour)), assign("", other, sleepFor(0)))
			w.reported(other)
			w.await("the central scheduler knows the end of both", func() bool {
				ended := w.sentToMaster(sched.Idle)
				return slices.Contains(ended, unstarted) && slices.Contains(ended, other)
			})
			n.until("there is room for others", func(o *owner) bool {
				return keptBy(o) == 4 && !o.full.Load().Refuses(o.addrs.Addr(w.frontend), true)
			})

			n.deliver(assign("", attemptOf(2, 1), sleepFor(time.Hour)), assign("absent", attemptOf(1, 4), sleepFor(time.Hour)))
			n.until("the last has ended unstarted, or waits", func(o *owner) bool {
				if strings.HasPrefix(policy, "kairos") { // it has a core for it
					return keptBy(o) == 5
				}
				return o.workers.Attempts() == 2
			})
			n.ahead(sched.Time(time.Hour))
			n.until("it is forgotten", func(o *owner) bool {
				return keptBy(o) == 0 && o.workers.Attempts() == 1
			})
		})
	}
}
