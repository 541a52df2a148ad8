package nodemonitor

import (
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// addWorker makes the next worker, idle and general. Its core follows when the
// master has numbered it, where it does.
func (o *owner) addWorker() *worker {
	number := int32(len(o.workers)) //nolint:gosec // bounded by what registers
	w := &worker{number: number, ref: wire.Ref{Role: sched.Worker, Name: o.self.Name, Slot: number}, slots: o.rules.cores}
	w.done = func(r backend.Result) { o.urge(event{kind: ended, worker: w, result: r}) }
	o.workers = append(o.workers, w)
	o.meter.count(w, 1)
	if !o.rules.numbered {
		o.engage(w, number)
	}
	return w
}

// engage makes the worker's core, which goes by that number.
func (o *owner) engage(w *worker, number int32) {
	w.self = sched.Addr{Role: sched.Worker, ID: number}
	w.core = o.rules.newCore(sched.WorkerConfig{Self: w.self, Seed: o.seed, Master: o.master})
	o.bySelf[w.self] = w
}

// live returns the workers there are, in the order of their numbers.
func (o *owner) live() []*worker {
	if !o.gaps {
		return o.workers
	}
	return slices.DeleteFunc(slices.Clone(o.workers), func(w *worker) bool { return w == nil })
}

// worker returns the worker of that number on this node, nil when there is none now.
func (o *owner) worker(number int32) *worker {
	if number < 0 || int(number) >= len(o.workers) {
		return nil
	}
	w := o.workers[number]
	if w == nil || w.leaving || w.core == nil {
		return nil
	}
	return w
}

// step gives a worker's core a message, and the shell its actions.
func (o *owner) step(w *worker, from sched.Addr, m *sched.Message) {
	o.stepping = w
	o.steps.Step(w.core, w.self, o.clock.Now(), from, m)
	if kind := w.kind(); kind != w.counted {
		o.meter.count(w, -1)
		w.counted = kind
		o.meter.count(w, 1)
	}
}

// timeout gives a core the timer it asked for.
func (o *owner) timeout(self sched.Addr, token uint64) {
	if w := o.bySelf[self]; w != nil {
		o.step(w, sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: token})
	}
}

// slotAdded makes the slot of a classic backend. The registry numbers slots as
// they come, and so do we.
func (o *owner) slotAdded(b app.Slot) {
	for len(o.workers) < int(b.Number) {
		o.workers, o.gaps = append(o.workers, nil), true
	}
	w := o.addWorker()
	w.classic, w.app = true, b.App
	if b.Reserved {
		o.step(w, sched.Addr{}, &sched.Message{Kind: sched.SetReserved, Reserved: true, Epoch: o.epoch, Seq: 1})
	}
	o.log.Info("a backend brought a slot", "slot", w.number, "application", b.App, "reserved", b.Reserved, "backend", b.Address)
	o.changed()
}

// slotGone takes a classic backend's slot away. What ran in the backend has ended
// by now; a task of a built-in backend is stopped.
func (o *owner) slotGone(b app.Slot, reason string) {
	w := o.worker(b.Number)
	if w == nil {
		return
	}
	o.log.Warn("a slot is gone with its backend", "slot", w.number, "application", b.App, "reason", reason)
	w.leaving = true
	for _, a := range w.attempts {
		o.kill(a)
	}
	o.removeLeft(w)
	o.changed()
}

// removeLeft takes a worker out that is leaving and has nothing to run any more.
func (o *owner) removeLeft(w *worker) {
	if !w.leaving || len(w.attempts) > 0 {
		return
	}
	o.meter.count(w, -1)
	delete(o.bySelf, w.self)
	o.workers[w.number], o.gaps = nil, true
}

// servesChanged notes the applications with a resident backend: every slot of the
// node's own serves them beside the built-in backends.
func (o *owner) servesChanged(apps []string) {
	o.serves = append([]string{""}, apps...)
	o.log.Info("applications with a resident backend changed", "applications", fmt.Sprint(apps))
	o.changed()
}
