package frontend

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/application"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal/replica"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/relay"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Secret returns the secret of an attempt's launch.
func (f *Frontend) Secret(id sched.AttemptID) int64 {
	return peek(f, func(o *owner) int64 { return o.secrets.Secret(id) })
}

// AllKnowSecrets reports whether all masters and their nodes know launch secrets.
func (f *Frontend) AllKnowSecrets() bool {
	return peek(f, func(o *owner) bool { return o.dispatch.AllKnowSecrets() })
}

// CloseJournal takes the journal away from a frontend that runs, as a disk that
// fails does.
func (f *Frontend) CloseJournal() error { return f.service.journal.Close() }

// JobID returns the id of the job with a key here.
func (f *Frontend) JobID(key string) sched.JobID { return sched.NewJobID(f.service.scope, key) }

// LeaveMemory removes an ended job from memory, as when too many have ended since; the journal keeps
// it.
func (f *Frontend) LeaveMemory(job string) {
	peek(f, func(o *owner) struct{} { o.jobs.Remove(f.JobID(job)); return struct{}{} })
}

// AwaitName waits for the frontend's name as Run does, and calls between when all that it needs of the
// servers for that is open.
func (f *Frontend) AwaitName(ctx context.Context, between func()) error {
	leaders, journal, err := f.standby.open(ctx)
	if err != nil {
		return err
	}
	between()
	err = f.standby.wait(ctx, leaders, journal)
	journal.Abandon(err)
	return errors.Join(err, journal.Close())
}

// TakeOver takes over the frontend's name as Run does, and calls between before it resumes.
func (f *Frontend) TakeOver(ctx context.Context, between func()) error {
	return f.standby.run(ctx, func(s *replica.Store) error {
		between()
		return f.resume(s)
	})
}

// Awaits reports whether AwaitName waits.
func (f *Frontend) Awaits() bool { return f.standby.candidate.Load() != nil }

// FirstAttempt returns the first number that a life of a frontend gives to attempts.
func FirstAttempt(frontend string, life uint64) (int32, error) { return firstAttempt(frontend, life) }

// Scheduler returns the service for users and applications, for the daemon's own user.
func (f *Frontend) Scheduler() wire.Scheduler { return f.As(identity.Self()) }

// As returns the service for users and applications, for a principal.
func (f *Frontend) As(p identity.Principal) wire.Scheduler { return asPrincipal{f.service, p} }

// Applications is the service for applications with executors of their own.
func (f *Frontend) Applications() *application.Service { return f.applications.Service }

// MessageStats returns what became of the messages to applications.
func (f *Frontend) MessageStats() relay.Stats { return f.listeners.Stats() }

// Repeated returns how many results came again.
func (f *Frontend) Repeated() uint64 { return f.metrics.jobs.Repeated() }

// Members returns how many workers the core may use.
func (f *Frontend) Members() int { return peek(f, func(o *owner) int { return o.dispatch.Workers() }) }

// Others returns how many other frontends are known.
func (f *Frontend) Others() int { return peek(f, func(o *owner) int { return o.dispatch.Frontends() }) }

// Departed returns the nodes of a group that this frontend would tell the next master about.
func (f *Frontend) Departed(group int) []api.Node { return f.service.owner.dispatch.Departed(group) }

// MembershipOf returns whose membership was applied last, by the incarnation of the master.
func (f *Frontend) MembershipOf() int64 {
	return peek(f, func(o *owner) int64 { return o.dispatch.Membership().Incarnation })
}

// SetReprobe shortens the wait for a worker to ask for a task of a stale job, for the
// frontends that a test makes after it; the jobs that they accept are in no doubt. The test
// cannot be parallel.
func SetReprobe(t testing.TB, d time.Duration) {
	before, doubt := reprobeAfter, doubtFor
	t.Cleanup(func() { reprobeAfter, doubtFor = before, doubt })
	reprobeAfter, doubtFor = d, 0
}

// StaleJob reports whether the reservations of a job may be stale.
func (f *Frontend) StaleJob(key string) bool {
	return peek(f, func(o *owner) bool { return o.dispatch.Reservations(f.JobID(key)).Stale() })
}

// peek reads what the owner has; zero of a frontend that has ended.
func peek[T any](f *Frontend, read func(*owner) T) (seen T) {
	done := make(chan T, 1)
	if f.loop.PostUnbounded(func() { done <- read(f.owner) }) != nil {
		return seen
	}
	return <-done
}

// Ignored returns how many messages of others were ignored.
func (f *Frontend) Ignored(t testing.TB) float64 {
	t.Helper()
	families, err := f.metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "pigeon_frontend_stale_messages_total" {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatal("the metric of ignored messages is not exported")
	return 0
}

// HeldBytes returns how many bytes the unfinished jobs hold, as the limit counts them.
func (f *Frontend) HeldBytes() int64 {
	return peek(f, func(o *owner) int64 { return o.held.HeldBytes() })
}

// Metric returns a value of a metric by its name and the value of its label, and whether
// it is exported.
func (f *Frontend) Metric(t testing.TB, name, label string) (float64, bool) {
	t.Helper()
	families, err := f.metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && (label == "" || len(m.GetLabel()) > 0 && m.GetLabel()[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue(), true
			}
		}
	}
	return 0, false
}

// CountPosts counts the questions to the owner goroutine from now on.
func (f *Frontend) CountPosts() *atomic.Int64 {
	n, post := new(atomic.Int64), f.service.mailbox.Post
	f.service.mailbox.Post = func(do func()) error {
		n.Add(1)
		return post(do)
	}
	return n
}

// SetSaveClasses shortens the time between two saves of what was learned, for the frontends
// that a test makes after it. The test cannot be parallel.
func SetSaveClasses(t testing.TB, every time.Duration) {
	before := saveClassesEvery
	t.Cleanup(func() { saveClassesEvery = before })
	saveClassesEvery = every
}

// Submitted returns the message that submits an unfinished job to the core.
func (f *Frontend) Submitted(key string) sched.Message {
	return peek(f, func(o *owner) sched.Message { return o.jobs.Known(f.JobID(key)).Submit() })
}

// Hold has the owner goroutine do nothing until release is closed.
func (f *Frontend) Hold(release <-chan struct{}) {
	held := make(chan struct{})
	f.postUnbounded(func() { close(held); <-release })
	<-held
}

// PageAddress returns what pageAddress returns.
func PageAddress(served, advertised, frontend string) string {
	return pageAddress(served, advertised, frontend)
}

// ObservedJobs returns how many jobs the observers of jobs keep, by the observer's type and field.
func (f *Frontend) ObservedJobs() map[string]int {
	return peek(f, func(o *owner) map[string]int {
		rows := map[string]int{}
		observers := reflect.ValueOf(o.jobs).Elem().FieldByName("opts").FieldByName("Observers")
		for i := range observers.Len() {
			v := reflect.Indirect(observers.Index(i).Elem())
			for k := range v.NumField() {
				if field := v.Field(k); field.Kind() == reflect.Map && field.Type().Key() == reflect.TypeFor[*jobs.Job]() {
					rows[v.Type().String()+"."+v.Type().Field(k).Name] = field.Len()
				}
			}
		}
		return rows
	})
}
