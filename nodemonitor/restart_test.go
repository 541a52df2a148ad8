package nodemonitor

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// again stops a node to be started again, and returns the next process of it.
func (n *testNode) again(c Config) *testNode {
	n.w.t.Helper()
	n.PrepareRestart()
	if err := n.stop(); err != nil {
		n.w.t.Fatal(err)
	}
	n.w.update(func() { n.w.sequence = 0 })
	next := n.w.run(c)
	receive(n.w.t, next.Ready())
	return next
}

// lastHello returns the last hello that came.
func (w *world) lastHello() (h *wire.Hello) {
	w.update(func() { h = w.hellos[len(w.hellos)-1] })
	return h
}

// result waits for the result of an attempt.
func (w *world) result(id sched.AttemptID) (it wire.Item) {
	w.t.Helper()
	w.await("the result of "+id.String(), func() bool {
		found := find(w.reports, sched.Report, id)
		if found != nil {
			it = *found
		}
		return found != nil
	})
	return it
}

// Three restarts of a node with running, suspended and sleeping tasks: each process continues
// what the one before ran, and reports that to the master; nothing is started twice, outputs
// are whole, and results that were not acknowledged are sent by the next process.
func TestRestartKeepsWhatRuns(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"pigeon", "pigeon-x", "fifo"} {
		t.Run(policy, func(t *testing.T) { testRestart(t, policy) })
	}
}

func testRestart(t *testing.T, policy string) {
	w, slots := newWorld(t, false), 10
	if policy == "fifo" {
		w = newWorldOf(t, 0, false)
		w.numbering = true
	}
	n := w.start(func(c *Config) { c.Slots, c.Policy = slots, policy })
	c := n.cfg
	folder := t.TempDir()
	script := func(task int32) api.Payload {
		return shell(fmt.Sprintf(`cd %s; echo $$ >> started-%d; echo before; while [ ! -e go ]; do sleep 0.01; done; echo after; exit %d`, folder, task, task))
	}
	var running []sched.AttemptID
	for slot := range int32(8) {
		id := attemptOf(1, slot)
		n.deliver(w.launch(slot, 0, id, script(slot)))
		running = append(running, id)
	}
	sleeps, ended := attemptOf(2, 0), attemptOf(2, 1)
	n.deliver(w.launch(8, 0, sleeps, sleepFor(time.Hour)))
	w.update(func() { w.down = true })
	n.deliver(w.launch(9, 0, ended, shell("exit 9")))
	var suspended sched.AttemptID
	n.until("everything has started, and one has ended", func(o *owner) bool { return started(o) == 9 && keptBy(o) == 1 })
	for i := range running {
		awaitFile(t, filepath.Join(folder, fmt.Sprintf("started-%d", i)))
	}
	if policy == "pigeon-x" {
		suspended = attemptOf(3, 0)
		it := w.launch(0, 0, suspended, script(100))
		it.Msg.Kind, it.Msg.Kept = sched.Preempt, []sched.AttemptID{running[0]}
		n.deliver(it)
		n.untilPhases(0, "0 running", "0 suspended")
		suspended = running[0]
	}
	former := n.self.Incarnation
	for range 3 {
		n = n.again(c)
		h := w.lastHello()
		if !slices.Equal(h.Continues, []int64{former}) || !h.Complete || h.Incarnation == former {
			t.Fatalf("the hello of %d continues %v, want %d, complete: %v", h.Incarnation, h.Continues, former, h.Complete)
		}
		former = h.Incarnation
		for slot := range int32(9) {
			if s := h.Slots[slot]; s.Running.Attempt == 0 || s.Seq == 0 || policy == "pigeon" && s.Running != append(slices.Clone(running), sleeps)[slot] {
				t.Fatalf("slot %d is reported as %+v", slot, s)
			}
		}
		if kept := h.Slots[9].Kept; !slices.Equal(kept, []sched.AttemptID{ended}) {
			t.Errorf("kept results are reported as %v", kept)
		}
		if policy == "pigeon-x" {
			if held := h.Slots[0].Held; len(held) != 1 || held[0].ID != suspended || !held[0].Suspended {
				t.Errorf("slot 0 holds %+v", held)
			}
		}
		// A started task is not started again, neither where it runs nor elsewhere.
		n.until("the slots are known", func(o *owner) bool { return o.numbered.Load() })
		n.deliver(w.launch(9, h.Slots[9].Seq, running[3], script(3)))
		n.until("it is refused", func(o *owner) bool { return started(o) == 9+len(h.Slots[0].Held) })
	}
	w.update(func() { w.down = false })
	if it := w.result(ended); it.Exit != 9 || it.Msg.Outcome != sched.Failed {
		t.Errorf("the result that was handed over is %+v", it)
	}
	if err := os.WriteFile(filepath.Join(folder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, id := range running {
		if id == suspended {
			continue
		}
		if it := w.result(id); it.Exit != i || it.Elapsed <= 0 {
			t.Errorf("%v ended as %+v", id, it)
		}
		log, err := n.peer.AttemptLog(context.Background(), wire.AttemptLogRequest{Attempt: id, Stream: "stdout", Limit: 100})
		if err != nil || string(log.Data) != "before\nafter\n" {
			t.Errorf("%v wrote %q (%v)", id, log.Data, err)
		}
		if pids, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("started-%d", i))); err != nil || strings.Count(string(pids), "\n") != 1 {
			t.Errorf("%v was started as %q (%v)", id, pids, err)
		}
	}
	if policy == "pigeon-x" {
		w.result(attemptOf(3, 0))
		n.untilPhases(0, "0 suspended")
		resume := w.launch(0, 0, suspended, api.Payload{})
		n.look(func(o *owner) { resume.Msg.Seq = o.workers.Status()[0].Seq })
		resume.Msg.Kind = sched.Continue
		n.deliver(resume)
		if it := w.result(suspended); it.Exit != 0 || it.Suspended <= 0 {
			t.Errorf("the suspended one ended as %+v", it)
		}
	}
	n.look(func(o *owner) {
		if o.workers.Attempts() != 1 {
			t.Errorf("%d attempts are left, want the sleeping one", o.workers.Attempts())
		}
	})
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not written", path)
		}
	}
}

// A process whose node has fewer slots than before kills what has no place, and one without
// restart_grace kills everything; both state in their hellos that nothing else continues.
func TestRestartWithOtherSettings(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"fewer slots": func(c *Config) { c.Slots = 1 },
		"no grace":    func(c *Config) { c.RestartGrace = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			n := w.start(nil)
			c, folder := n.cfg, t.TempDir()
			var pids [2]string
			for slot := range int32(2) {
				path := filepath.Join(folder, fmt.Sprint(slot))
				n.deliver(w.launch(slot, 0, attemptOf(1, slot), shell("echo $$ > "+path+"; exec sleep 1000")))
				awaitFile(t, path)
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				pids[slot] = strings.TrimSpace(string(text))
			}
			former := n.self.Incarnation
			change(&c)
			n.again(c)
			h, going := w.lastHello(), 0
			for i := range h.Slots {
				if h.Slots[i].Running.Attempt > 0 {
					going++
				}
			}
			want := 2 - c.Slots // one slot is left, or no grace
			if name == "no grace" {
				want = 0
			}
			if going != want || !h.Complete || !slices.Equal(h.Continues, []int64{former}) {
				t.Errorf("%d attempts go on, want %d; complete %v, continues %v", going, want, h.Complete, h.Continues)
			}
			for _, pid := range pids[want:] {
				await.Until(t, "process "+pid+" is gone", func() bool { _, err := os.Stat("/proc/" + pid); return err != nil })
			}
		})
	}
}

// A process keeps results of slots that it does not have: the setting slots was reduced, or a
// backend's slot went with the former process. Its hello lists them with its first slot, and no drain
// of the node is complete without them.
func TestRestartKeepsResultsOfFormerSlots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ former, slots int }{
		"fewer slots":      {1, 1},
		"a backend's slot": {2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			n := w.start(nil)
			cfg, id := n.cfg, attemptOf(1, 0)
			cfg.Slots = c.slots
			if c.former == 2 {
				startProcess(t, n).register("spark", 1)
				w.slotsReported(3, "")
			}
			w.update(func() { w.down = true })
			n.deliver(w.launch(int32(c.former), 0, id, shell("exit 9"))) //nolint:gosec // small
			n.until("its result is kept", func(o *owner) bool { return keptBy(o) == 1 })
			n = n.again(cfg)
			if h := w.lastHello(); len(h.Slots) != c.slots || !slices.Equal(h.Slots[0].Kept, []sched.AttemptID{id}) {
				t.Errorf("the hello has %+v", h.Slots)
			}
			if _, err := n.peer.Drain(t.Context(), wire.DrainOrder{}); err != nil {
				t.Fatal(err)
			}
			n.look(func(o *owner) {
				if _, drained := o.workers.Draining(); drained {
					t.Error("the node is drained, and has a result that nobody has yet")
				}
			})
			w.update(func() { w.down = false })
			if it := w.result(id); it.Exit != 9 {
				t.Errorf("the result is %+v", it)
			}
			n.until("the node is drained", func(o *owner) bool { _, drained := o.workers.Draining(); return drained })
		})
	}
}

// A guard of another version ends with what it runs: its attempts are given back, and the
// master counts no loss.
func TestGuardOfAnotherVersion(t *testing.T) {
	w := newWorld(t, false)
	c := w.config(nil)
	if err := os.Chmod(c.WorkDir, 0o700); err != nil { // as an earlier node monitor has left it
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(c.WorkDir, "guard.socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answered := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			answered <- err
			return
		}
		defer conn.Close()
		var greeting struct{ Version int }
		err = gob.NewDecoder(conn).Decode(&greeting)
		former := lineage{Incarnations: []int64{7, 8}, Life: 3}
		answered <- errors.Join(err, gob.NewEncoder(conn).Encode(struct {
			Version int
			Refused string
			Ends    bool
			Kept    []byte
		}{greeting.Version + 1, "it speaks another version", true, former.encode()}))
	}()
	n := w.run(c)
	receive(t, n.Ready())
	if err := receive(t, answered); err != nil {
		t.Fatal(err)
	}
	if h := w.lastHello(); !slices.Equal(h.Continues, []int64{7, 8}) || !h.Complete || h.Slots[0].Seq != 4<<lifeBits {
		t.Errorf("the hello is %+v", h)
	}
}

// A handover is used within the grace, on the machine that has not been started since, by the
// version that wrote it.
func TestHandoverThatIsNotUsed(t *testing.T) {
	write := func(t *testing.T, change func(*handover)) string {
		folder, h := t.TempDir(), &handover{Lineage: lineage{Incarnations: []int64{5}}}
		if err := h.write(folder); err != nil {
			t.Fatal(err)
		}
		if change == nil {
			return folder
		}
		change(h)
		f, err := os.Create(filepath.Join(folder, handoverFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(gob.NewEncoder(f).Encode(h), f.Close()); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	log := slog.New(slog.DiscardHandler)
	folder := write(t, nil)
	if info, err := os.Stat(filepath.Join(folder, handoverFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v (%v)", info, err)
	}
	if h, away := readHandover(folder, time.Minute, log); h == nil || away < 0 || h.Lineage.Incarnations[0] != 5 {
		t.Errorf("read %+v after %v", h, away)
	}
	for name, change := range map[string]func(*handover){
		"too old":         func(h *handover) { h.At -= time.Hour },
		"another boot":    func(h *handover) { h.Boot = "another" },
		"another version": func(h *handover) { h.Version++ },
	} {
		if h, _ := readHandover(write(t, change), time.Minute, log); h != nil {
			t.Errorf("%s: it is used: %+v", name, h)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, handoverFile), []byte("no handover"), 0o600); err != nil {
		t.Fatal(err)
	}
	if h, _ := readHandover(folder, time.Minute, log); h != nil {
		t.Errorf("rubbish is used: %+v", h)
	}
}

// A node that drains and is started again continues to drain, with its running attempts.
func TestRestartOfADrainingNode(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	c, id := n.cfg, attemptOf(1, 0)
	n.deliver(w.launch(0, 0, id, shell("while [ ! -e go ]; do sleep 0.01; done; exit 3")))
	n.until("it runs", func(o *owner) bool { return started(o) == 1 })
	if _, err := n.peer.Drain(t.Context(), wire.DrainOrder{}); err != nil {
		t.Fatal(err)
	}
	n = n.again(c)
	if h := w.lastHello(); !h.Draining || !h.Complete || h.Slots[0].Running != id {
		t.Errorf("the hello is %+v", h)
	}
	n.look(func(o *owner) {
		if draining, drained := o.workers.Draining(); !draining || drained {
			t.Errorf("draining %v, drained %v", draining, drained)
		}
	})
}
