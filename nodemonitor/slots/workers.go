package slots

import (
	"fmt"
	"log/slog"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Config is what Workers need.
type Config struct {
	Self      *wire.Sender // the node
	Seed      uint64
	Policy    sched.Policy
	Params    sched.Params
	Master    sched.Addr
	MasterRef wire.Ref
	Heartbeat sched.Time
	Clock     runloop.Clock
	Contact   Contact
	Now       func() sched.Time // returns the instant of the batch that is being handled
	Post      func(func())      // runs a function on the goroutine of the workers; any may call it
	Backends  map[api.Backend]backend.Backend
	Results   *results.Reporter
	Names     *addrmap.Map
	// Note encodes the launch of an attempt for the next process of the node; nil when there
	// is none that could take it over. FirstSeq is where the sequence numbers of slots begin.
	Note     func(launch *wire.Item) []byte
	FirstSeq uint64
	Limits   NodeLimits
	// Changed is called when slots were added or removed, or serve other applications.
	Changed  func()
	Recorder *runloop.Recorder // nil for none
	Tracing  *telemetry.Tracing
	Log      *slog.Logger
	Metrics  *Metrics
}

// Workers is every worker of a node. It belongs to one goroutine, except for Messages.
// Make it with [New].
type Workers struct {
	cfg Config
	out *Outbox

	workers   *workerList
	attempts  *attempts
	admission *admission
	requests  *requests
	cores     *stepper

	serves  []string      // by the node's own slots; replaced, never changed
	message sched.Message // the end being stepped
	epoch   uint64        // highest seen of a master of this group
	epochOf int64         // the incarnation of that master
	old     oldResults
}

// New returns a node without workers.
func New(cfg Config) *Workers {
	w := &Workers{cfg: cfg, serves: []string{""}}
	w.workers = &workerList{cfg: &w.cfg, ended: w.ended, bySelf: map[sched.Addr]*worker{}}
	w.attempts = &attempts{cfg: &w.cfg, started: map[sched.AttemptID]*attempt{}, workers: w.workers}
	w.out = newOutbox(&w.cfg)
	w.admission = &admission{cfg: &w.cfg, attempts: w.attempts, workers: w.workers, out: w.out}
	w.requests = &requests{cfg: &w.cfg, out: w.out, workers: w.workers}
	w.cores = &stepper{
		cfg: &w.cfg, timers: runloop.NewTimers(cfg.Clock, w.timer), admission: w.admission, requests: w.requests, out: w.out,
		run: &runner{cfg: &w.cfg, attempts: w.attempts, fence: newFence(), spans: spans{cfg.Tracing}},
	}
	w.cores.steps = runloop.NewStepper(w.cores.act, cfg.Recorder)
	return w
}

// Outbox returns the messages of the workers to others, to be connected.
func (s *Workers) Outbox() *Outbox { return s.out }

// Messages counts the messages that the cores have sent to others, as the papers do: a
// batch of k tasks counts k. It may be called from anywhere.
func (s *Workers) Messages() uint64 { return s.cores.steps.Messages() }

// Attempts returns how many attempts are at the workers.
func (s *Workers) Attempts() int { return s.attempts.running.All() }

// Add makes the next worker, idle and general. Its core follows when the master has
// numbered it, under policies that number workers.
func (s *Workers) Add() { s.workers.add() }

// AddClassic makes the slot of a classic backend. The registry of backends numbers slots
// in the order of their arrival, and so does Workers.
func (s *Workers) AddClassic(b app.Slot) {
	for len(s.workers.all) < int(b.Number) {
		s.workers.all, s.workers.gaps = append(s.workers.all, nil), true
	}
	w := s.workers.add()
	w.classic, w.app = true, b.App
	if b.Reserved {
		s.cores.step(w, sched.Addr{}, &sched.Message{Kind: sched.SetReserved, Reserved: true, Epoch: s.epoch, Seq: 1})
	}
	s.cfg.Log.Info("a backend brought a slot", "slot", w.number, "application", b.App, "reserved", b.Reserved, "backend", b.Address)
	s.cfg.Changed()
}

// RemoveClassic removes a classic backend's slot. The backend's own tasks have ended by
// now; a task of a built-in backend is killed.
func (s *Workers) RemoveClassic(b app.Slot, reason string) {
	w := s.workers.there(b.Number)
	if w == nil {
		return
	}
	s.cfg.Log.Warn("a slot was removed with its backend", "slot", w.number, "application", b.App, "reason", reason)
	w.leaving = true
	for _, a := range w.attempts.list {
		a.kill()
	}
	s.workers.removeIfEmpty(w)
	s.cfg.Changed()
}

// SetServes sets the applications with a backend or an executor that has room here:
// every slot of the node's own serves them in addition to the built-in backends.
func (s *Workers) SetServes(apps []string) {
	s.serves = append([]string{""}, apps...)
	s.cfg.Log.Info("applications with a resident backend changed", "applications", fmt.Sprint(apps))
	s.cfg.Changed()
}

// Serves returns the applications that the node's own slots serve.
func (s *Workers) Serves() []string { return s.serves }

// Leave makes Describe return no slots. It follows Stop.
func (s *Workers) Leave() { s.admission.left = true }

// Stop makes the workers deny every launch from now on. Ends that wait for a core are reported without one.
func (s *Workers) Stop() {
	s.admission.stopping = true
	for _, w := range s.workers.live() {
		s.stepEarly(w)
	}
}
