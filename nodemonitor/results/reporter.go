package results

import (
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Notifier publishes notices. An error means that nothing was sent; success does not
// mean that the receiver got it.
type Notifier interface {
	Report(b *wire.Batch) error // to the receiver, a frontend
}

// Caller makes Reports calls.
type Caller interface {
	// Report calls the frontend at the address and then calls back once, from a separate
	// goroutine.
	Report(address string, b *wire.Batch, back func(wire.ReportsReply, error))
}

// Config is what a Reporter needs.
type Config struct {
	Self      *wire.Sender // the node
	Limit     int          // results kept and attempts running
	MaxBytes  int64        // of reasons and tails
	Forget    sched.Time   // results of a frontend that was not reached for that long are forgotten
	Heartbeat sched.Time
	Names     *addrmap.Map
	Calls     Caller
	Now       func() sched.Time
	// Post runs a function later on the goroutine that owns the reporter; it may be
	// called from any.
	Post func(func())
	// UnknownJob is called when a frontend did not know a job in its answer to a call that
	// was made at the instant; the results that the call sent have been forgotten.
	UnknownJob func(frontend sched.Addr, job sched.JobID, called time.Time)
	// Forgotten is called when the results of a frontend that was not reached for too long
	// were forgotten.
	Forgotten func(frontend sched.Addr)
	// FirstNumber is one less than the number of the first result. No other process of this
	// node gives a result the same number.
	FirstNumber int64
	// Answered is called with each answer to a call, and whether it is the first after calls
	// without an answer. Answered may be nil.
	Answered func(frontend sched.Addr, incarnation int64, recovered bool)
	Log      *slog.Logger
	Metrics  *Metrics
}

// Reporter keeps results and reports them. It belongs to one goroutine. Make one with
// [New].
type Reporter struct {
	cfg       Config
	notices   Notifier // nil without NATS
	store     *store
	frontends []*frontend   // by distributor number
	dirty     []*frontend   // with fresh results
	scratch   []wire.Item   // of a notice
	muted     bool          // no more calls
	drained   chan struct{} // closed when the last calls have been answered; nil before HandOver
}

// New returns a reporter that keeps nothing.
func New(cfg Config) *Reporter {
	return &Reporter{cfg: cfg, store: newStore(cfg.Limit, cfg.MaxBytes, cfg.FirstNumber)}
}

// UseNotices makes results travel as notices from now on.
func (r *Reporter) UseNotices(n Notifier) { r.notices = n }

// Keep adds the end of an attempt to the results that are owed to a frontend with
// which CanReport holds. If the attempt already has a kept result, that one is sent once
// more, unless a launch with another secret is given back: the frontend has lost the journal of the
// kept one, and believes no result of it.
func (r *Reporter) Keep(to sched.Addr, result Result) {
	f := r.frontend(to)
	if !r.maySave(f) {
		return
	}
	if f.kept() == 0 {
		f.heardAt = max(f.heardAt, r.cfg.Now())
	}
	if result.Outcome == sched.Yielded && !r.keepsOf(result.ID, result.Secret) {
		r.store.drop(result.ID)
	}
	if !r.store.keep(result, r.cfg.Now(), f, &f.fresh) {
		r.Resend(result.ID)
		return
	}
	r.markDirty(f)
}

// Resend sends a kept result once more.
func (r *Reporter) Resend(id sched.AttemptID) {
	place, kept := r.store.index[id]
	if !kept {
		return
	}
	e := &r.store.table[place]
	r.store.move(place, &e.distributor.fresh)
	r.markDirty(e.distributor)
}

// Find returns the kept result of an attempt, nil when none is kept. It is valid until the next
// call of a method.
func (r *Reporter) Find(id sched.AttemptID) *Result {
	place, kept := r.store.index[id]
	if !kept {
		return nil
	}
	return &r.store.table[place].Result
}

// keepsOf reports whether the result of an attempt is kept that was launched with a secret.
func (r *Reporter) keepsOf(id sched.AttemptID, secret int64) bool {
	kept := r.Find(id)
	return kept != nil && kept.Secret == secret
}

// Kept returns how many results are kept, and the bytes of their texts.
func (r *Reporter) Kept() (results int, bytes int64) { return len(r.store.index), r.store.bytes }

// Each calls visit for every result that is kept for that long, with its frontend, until it
// returns false.
func (r *Reporter) Each(age sched.Time, visit func(frontend sched.Addr, result *Result) bool) {
	before := r.cfg.Now() - age
	for _, f := range r.frontends {
		for _, l := range [...]*list{&f.sent, &f.fresh} {
			for place, n := l.first, l.n; n > 0; n-- {
				e := &r.store.table[place]
				if e.keptAt <= before && !visit(f.addr, &e.Result) {
					return
				}
				place = e.next
			}
		}
	}
}

// Acknowledge forgets results that a frontend has journaled. numbers are those of the
// results in the same order, none from a frontend of an earlier version.
func (r *Reporter) Acknowledge(from sched.Addr, ids []sched.AttemptID, numbers []int64) {
	f := r.frontend(from)
	if f == nil {
		r.cfg.Metrics.ignored[byAnother].Add(float64(len(ids)))
		return
	}
	f.heardAt = r.cfg.Now()
	repeats := len(numbers) == len(ids)
	r.acknowledge(f, ids, func(i int) int64 {
		if repeats {
			return numbers[i]
		}
		return r.latest(ids[i])
	})
}

// latest returns the number of the result of an attempt, 0 when none is kept.
func (r *Reporter) latest(id sched.AttemptID) int64 {
	if place, kept := r.store.index[id]; kept {
		return r.store.table[place].number
	}
	return 0
}

// acknowledge forgets those results of a frontend that have the number of their index.
func (r *Reporter) acknowledge(f *frontend, ids []sched.AttemptID, number func(int) int64) {
	forgotten, ignored := 0, 0
	for i, id := range ids {
		if r.store.keeps(id, number(i), f) {
			r.store.drop(id)
			forgotten++
		} else if r.Find(id) != nil {
			ignored++
		}
	}
	r.cfg.Metrics.acknowledged.Add(float64(forgotten))
	r.cfg.Metrics.ignored[late].Add(float64(ignored))
}

func (r *Reporter) markDirty(f *frontend) {
	if !f.dirty {
		f.dirty = true
		r.dirty = append(r.dirty, f)
	}
}

// Flush sends the fresh results of a batch: one notice for each frontend, or a call
// without NATS.
func (r *Reporter) Flush() {
	for _, f := range r.dirty {
		f.dirty = false
		for f.fresh.n > 0 && r.publish(f) {
		}
		if f.fresh.n > 0 {
			r.call(f)
		}
	}
	clear(r.dirty)
	r.dirty = r.dirty[:0]
	r.cfg.Metrics.kept.Set(float64(len(r.store.index)))
	r.cfg.Metrics.keptBytes.Set(float64(r.store.bytes))
}

// Repeat sends, every heartbeat, the results that were not acknowledged within one. A
// frontend that does not answer at its last address may have come back at another,
// which its answer to a notice carries. The results of one that was not reached for too
// long are forgotten. For the time away, since the last call, this node itself did not run,
// which does not count as their silence.
func (r *Reporter) Repeat(away sched.Time) {
	for _, f := range r.frontends {
		f.heardAt = max(f.heardAt, min(f.heardAt+away, r.cfg.Now()))
		r.forgetAbsent(f)
		switch {
		case f.dirty: // Flush sends its results
		case f.fresh.n == 0 && !r.isDue(f):
		case f.failures%2 == 1 && r.publish(f):
			f.failures++
		default:
			r.call(f)
		}
	}
}

// Mute ends all calls, for good.
func (r *Reporter) Mute() { r.muted = true }
