package nodemonitor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// phases returns what the attempts at a worker do, by their tasks.
func phases(s slots.Status) (list []string) {
	if s.Attempt > 0 {
		list = append(list, fmt.Sprintf("%d running", s.Task))
	}
	for _, h := range s.Held {
		list = append(list, fmt.Sprintf("%d %s", h.Task, h.State))
	}
	slices.Sort(list)
	return list
}

func (n *testNode) untilPhases(slot int32, want ...string) {
	n.w.t.Helper()
	n.until(fmt.Sprintf("worker %d has %v", slot, want), func(o *owner) bool { return slices.Equal(phases(o.workers.Status()[slot]), want) })
}

// holds are tasks that run for as long as a test lasts, by backend.
func holds() map[string]api.Payload {
	return map[string]api.Payload{"sleep": sleepFor(time.Hour), "exec": shell("echo $$; exec sleep 1000")}
}

// stoppedAs waits until the process of an exec attempt is stopped, or is not. Other
// attempts have none.
func (n *testNode) stoppedAs(id sched.AttemptID, backend string, stopped bool) {
	n.w.t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil || backend != "exec" {
		return
	}
	var log wire.LogChunk
	var stat []byte
	await.Until(n.w.t, fmt.Sprintf("the process of %v has stopped: %v", id, stopped), func() bool {
		var err error
		log, err = n.peer.AttemptLog(context.Background(), wire.AttemptLogRequest{Attempt: id, Stream: "stdout", Limit: 100})
		pid, isPid := strconv.Atoi(strings.TrimSpace(string(log.Data)))
		if err != nil || isPid != nil {
			return false // it has not printed its pid yet
		}
		stat, err = os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && bytes.Contains(stat, []byte(") T ")) == stopped
	}, func() string { return fmt.Sprintf("output %q, stat %q", log.Data, stat) })
}

// TestPreempt: pigeon-x suspends a running task for another one, and continues it
// afterwards; the backends do so, and snapshots list what is held.
func TestPreempt(t *testing.T) {
	for backend, hold := range holds() {
		t.Run(backend, func(t *testing.T) {
			w := newWorld(t, false)
			n := w.under("pigeon-x", func(c *Config) { c.Slots = 1 }, "n1")[0]
			long, short, next := attemptOf(1, 0), attemptOf(1, 1), attemptOf(1, 2)
			it := w.launch(0, 0, long, hold)
			it.Msg.Class = sched.Long
			n.deliver(it)
			n.untilPhases(0, "0 running")
			n.stoppedAs(long, backend, false)
			preempt := w.launch(0, 0, short, hold)
			preempt.Msg.Kind, preempt.Msg.Kept = sched.Preempt, []sched.AttemptID{long}
			n.deliver(preempt)
			n.untilPhases(0, "0 suspended", "1 running")
			n.stoppedAs(long, backend, true)
			w.await("it is told what is held", func() bool {
				s := w.slotReported(0)
				return s.Running == short && len(s.Held) == 1 && s.Held[0].ID == long && s.Held[0].Suspended && s.Held[0].Class == sched.Long
			})
			n.deliver(preempt) // it comes again
			another := w.launch(0, 1, next, hold)
			another.Msg.Kind, another.Msg.Kept = sched.Preempt, []sched.AttemptID{long}
			n.deliver(another)
			w.await("what must be suspended does not run there", func() bool { return find(w.linked, sched.Refused, next) != nil })

			kill := w.launch(0, 0, short, hold)
			kill.Msg.Kind, kill.Extra = sched.Kill, wire.Extra{}
			n.deliver(kill)
			w.reported(short)
			n.untilPhases(0, "0 suspended")
			w.await("the slot is free", func() bool { return last(w.linked).Msg.Kind == sched.Idle })
			w.mu.Lock()
			free := last(w.linked).Msg.Seq
			w.mu.Unlock()
			resume := w.launch(0, free, long, hold)
			resume.Msg.Kind, resume.Extra = sched.Continue, wire.Extra{}
			n.deliver(resume)
			n.untilPhases(0, "0 running")
			n.stoppedAs(long, backend, false)
			yield := kill
			yield.Msg.Kind, yield.Msg.First = sched.Yield, long.Task
			n.deliver(yield)
			if r := w.reported(long); r.Msg.Outcome != sched.Yielded {
				t.Errorf("report %s", sched.Describe(&r.Msg))
			}
			n.until("nothing is left", func(o *owner) bool { return o.workers.Attempts() == 0 && started(o) == 0 })
		})
	}
}

// TestSuspendedSleeps: a sleep that is suspended continues afterwards, and ends.
func TestSuspendedSleeps(t *testing.T) {
	w := newWorld(t, false)
	n := w.under("pigeon-x", func(c *Config) { c.Slots = 1 }, "n1")[0]
	long, short := attemptOf(1, 0), attemptOf(1, 1)
	n.deliver(w.launch(0, 0, long, sleepFor(200*time.Millisecond)))
	preempt := w.launch(0, 0, short, sleepFor(time.Millisecond))
	preempt.Msg.Kind, preempt.Msg.Kept = sched.Preempt, []sched.AttemptID{long}
	n.deliver(preempt)
	if r := w.reported(short); r.Suspended != 0 {
		t.Errorf("the short task was suspended for %v", r.Suspended)
	}
	resume := w.launch(0, 3, long, sleepFor(0))
	resume.Msg.Kind, resume.Extra = sched.Continue, wire.Extra{}
	n.deliver(resume)
	if r := w.reported(long); r.Msg.Outcome != sched.Done || r.Elapsed < 200*time.Millisecond || r.Suspended <= 0 || r.Suspended >= r.Elapsed {
		t.Errorf("report %s, elapsed %v, suspended %v", sched.Describe(&r.Msg), r.Elapsed, r.Suspended)
	}
}

// assignKairos makes the launch number seq to a node core.
func (w *world) assignKairos(n *testNode, seq uint64, id sched.AttemptID, p api.Payload) wire.Item {
	it := w.launch(0, seq, id, p)
	it.To.Name = n.ref.Name
	return it
}

// TestKairos: a new task runs at once in the place of the one that has run most,
// which continues when there is room; the node's heartbeats and snapshots list all of
// them.
func TestKairos(t *testing.T) {
	t.Parallel()
	for backend, hold := range holds() {
		t.Run(backend, func(t *testing.T) {
			w, _ := newPeerWorld(t)
			n := w.under("kairos:cores=2,q=2,quantum=1h,heartbeat=20ms", func(c *Config) { c.Slots = 2 }, "n1")[0]
			for task := range int32(4) {
				n.deliver(w.assignKairos(n, uint64(task)+1, attemptOf(1, task), hold))
				n.stoppedAs(attemptOf(1, task), backend, false)
			}
			n.untilPhases(0, "0 suspended", "1 suspended", "2 running", "3 running")
			n.stoppedAs(attemptOf(1, 0), backend, true)
			n.stoppedAs(attemptOf(1, 3), backend, false)
			w.await("they are told", func() bool {
				b := last(w.linked)
				s := w.slotReported(0)
				return b.Msg.Kind == sched.Beat && len(b.Msg.More.Slots) == 4 && s.Running == attemptOf(1, 2) && len(s.Held) == 3 && s.Held[0].Suspended && !s.Held[2].Suspended && s.Seq == 4
			})
			if _, page := n.get("/metrics"); !strings.Contains(page, `workers{kind="general",state="busy"} 2`) || !strings.Contains(page, `workers{kind="general",state="idle"} 0`) {
				t.Error("the metrics do not have two busy slots")
			}
			if _, page := n.get("/status"); strings.Count(page, `"state":"suspended"`) != 2 || !strings.Contains(page, `"worker":0`) {
				t.Errorf("/status is %s", page)
			}
			n.deliver(w.assignKairos(n, 5, attemptOf(1, 4), hold))
			w.await("the node is full", func() bool { return find(w.linked, sched.Refused, attemptOf(1, 4)) != nil })

			kill := w.assignKairos(n, 0, attemptOf(1, 3), hold)
			kill.Msg.Kind, kill.Extra = sched.Kill, wire.Extra{}
			n.deliver(kill)
			w.reported(attemptOf(1, 3))
			held := int32(0) // or the other, whichever has run longer
			n.until("one of the two goes on", func(o *owner) bool {
				list := phases(o.workers.Status()[0])
				if len(list) == 3 && list[1] == "1 suspended" {
					held = 1
				}
				return len(list) == 3 && strings.Count(strings.Join(list, ","), "running") == 2
			})
			n.stoppedAs(attemptOf(1, 1-held), backend, false)
			n.stoppedAs(attemptOf(1, held), backend, true)
			kill.Msg.First = held
			n.deliver(kill)
			if r := w.reported(attemptOf(1, held)); r.Msg.Outcome != sched.Killed {
				t.Errorf("a suspended task that was killed: %s", sched.Describe(&r.Msg))
			}
			w.await("their ends are told", func() bool {
				ids := w.sentToMaster(sched.Idle)
				return slices.Contains(ids, attemptOf(1, held)) && slices.Contains(ids, attemptOf(1, 3))
			})
			if err := n.stop(); err != nil {
				t.Error(err)
			}
			for _, task := range []int32{1 - held, 2} {
				if r := w.reported(attemptOf(1, task)); r.Msg.Outcome != sched.Yielded {
					t.Errorf("report %s", sched.Describe(&r.Msg))
				}
			}
		})
	}
}

// TestKairosQuantum: the ends of quanta swap tasks live, and all of them end.
func TestKairosQuantum(t *testing.T) {
	w, _ := newPeerWorld(t)
	n := w.under("kairos:q=3,quantum=10ms", func(c *Config) { c.Slots = 1 }, "n1")[0]
	for task := range int32(4) {
		n.deliver(w.assignKairos(n, uint64(task)+1, attemptOf(1, task), sleepFor(40*time.Millisecond)))
	}
	for task := range int32(4) {
		if r := w.reported(attemptOf(1, task)); r.Msg.Outcome != sched.Done || r.Elapsed < 40*time.Millisecond {
			t.Errorf("report %s, elapsed %v", sched.Describe(&r.Msg), r.Elapsed)
		}
	}
}
