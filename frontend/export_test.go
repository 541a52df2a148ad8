package frontend

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/relay"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// CloseJournal takes the journal away from a frontend that runs, as a disk that
// fails does.
func (f *Frontend) CloseJournal() error { return f.journal.Close() }

// MessageStats returns what became of the messages to applications.
func (f *Frontend) MessageStats() relay.Stats { return f.listeners.Stats() }

// Repeated returns how many results came again.
func (f *Frontend) Repeated() uint64 { return f.owner.meter.repeated.Load() }

// Members returns how many workers the core was told of.
func (f *Frontend) Members() int {
	return peek(f, func(o *owner) int { return len(o.peers.members) })
}

// Others returns how many other frontends are known.
func (f *Frontend) Others() int { return peek(f, func(o *owner) int { return len(o.peers.others) }) }

// MembershipOf returns whose membership was applied last, by the incarnation of the master.
func (f *Frontend) MembershipOf() int64 {
	return peek(f, func(o *owner) int64 { return o.peers.membership.Incarnation })
}

// SetReprobe shortens the wait for a worker to ask for a task of a stale job.
func (f *Frontend) SetReprobe(d time.Duration) {
	peek(f, func(o *owner) bool { o.peers.patience = d; return true })
}

// StaleJob reports whether the reservations of a job may be stale.
func (f *Frontend) StaleJob(key string) bool {
	return peek(f, func(o *owner) bool { return o.jobs[sched.NewJobID(f.cfg.ID, key)].probes.patience > 0 })
}

// Silence has the last answer to a hello be so much older.
func (f *Frontend) Silence(d time.Duration) {
	peek(f, func(o *owner) bool { o.masters[0].lastHeard = o.masters[0].lastHeard.Add(-d); return true })
}

// peek reads what the owner has; zero of a frontend that has ended.
func peek[T any](f *Frontend, read func(*owner) T) (seen T) {
	done := make(chan T, 1)
	if f.urge(func() { done <- read(f.owner) }) != nil {
		return seen
	}
	return <-done
}

// Stale returns how many messages of others were ignored.
func (f *Frontend) Stale() uint64 { return f.owner.meter.stale.Load() }
