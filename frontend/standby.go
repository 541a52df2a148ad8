package frontend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/replica"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/leadership"
)

// standby is the state of a frontend with a replicated journal before it acts under its name, and
// determines afterwards whether it still may.
//
//	waiting ──the name is this process's──▶ taking over ──the journal is read──▶ serving
//	   │        (at once without leadership)                                       │
//	   └──stopped──▶ ended ◀────the leadership or the journal was lost, or stopped─┘
//
// It never goes back: a process that has lost the name ends, and waits when it is started again.
type standby struct {
	f         *Frontend
	candidate atomic.Pointer[leadership.Candidate] // nil without leadership, and at first
	serving   atomic.Bool
	twin      atomic.Bool     // another process leads at the address of this one
	led       chan uint64     // of size 1: the token
	token     uint64          // of the goroutine that runs the standby, and later reads only
	servers   *jetstore.Store // likewise
}

const (
	// followEvery is the time between two readings of the journal's stream by a standby.
	followEvery = 500 * time.Millisecond
	// probeEvery is the time between two looks of a standby who leads, and where.
	probeEvery = 200 * time.Millisecond
	// resignPatience bounds how long a stopping frontend waits for servers: until its name is free, or
	// until a takeover is written.
	resignPatience = 2 * time.Second
	// aliveAfter is after how many renewals of a leadership its leader lives: one may be the last write of a
	// process that has ended.
	aliveAfter = 3
	// openPatience bounds the first try to open the journal's stream.
	openPatience = 10 * time.Second
	// mostPatience bounds any reading of the journal's stream.
	mostPatience = time.Hour
)

// addressConflictAdvice is what is to be done about a leader at the address of a standby.
const addressConflictAdvice = "give each process of this frontend an address of its own that the others reach: listen, or advertise"

// leaderName returns the name under which frontends of one id are candidates.
func leaderName(id string) string { return "frontend." + id }

// newStandby returns the standby of a frontend.
func newStandby(f *Frontend) *standby {
	b := &standby{f: f, led: make(chan uint64, 1)}
	f.metrics.watchStandby(func() bool { return b.closed() == nil })
	return b
}

// newCandidate makes this process a candidate for the frontend's name. stop ends the candidate's
// Run: a process that has lost the name must not have it again while it ends.
func (b *standby) newCandidate(leaders leadership.Store, stop func()) *leadership.Candidate {
	return leadership.New(leadership.Options{
		Name: leaderName(b.f.cfg.ID), Store: leaders, TTL: b.f.cfg.LeaderTTL, Log: b.f.log,
		Record: leadership.Record{Holder: processName(), Address: b.f.Addr(), Incarnation: time.Now().UnixNano()},
		OnLead: func(token uint64) { b.led <- token },
		OnLost: func(reason error) {
			if errors.Is(reason, leadership.ErrResigned) {
				return // it stops, and the candidate has the record to remove
			}
			stop()
			b.ended(reason)
		},
	})
}

// processName names this process in words.
func processName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("process %d of host %s", os.Getpid(), host)
}

// leadershipToken returns the token of the leadership, 0 for a frontend that shares its name with
// no other process.
func (b *standby) leadershipToken() uint64 {
	if b == nil {
		return 0
	}
	return b.token
}

// leads reports whether this process may act under the frontend's name.
func (b *standby) leads() bool {
	if !b.serving.Load() {
		return false
	}
	c := b.candidate.Load()
	return c == nil || c.Leads()
}

// leader returns where another process serves that leads, "" when none is known.
func (b *standby) leader() string {
	c := b.candidate.Load()
	if c == nil {
		return ""
	}
	if r, known := c.Leader(); known && r.Address != b.f.Addr() {
		return r.Address
	}
	return ""
}

// closed returns why no daemon is answered or called under the frontend's name, nil while it
// leads.
func (b *standby) closed() error {
	if b.leads() {
		return nil
	}
	e := notLeading(b.f.cfg.ID)
	switch leader := b.leader(); {
	case b.twin.Load():
		e.What, e.Next = "another process leads this frontend at the address of this one, "+b.f.Addr(), addressConflictAdvice
	case leader != "":
		e.What, e.Next, e.Address, e.RetryAfter = "this process is a standby; the frontend is led at "+leader, "call it there", leader, 0
	case b.f.cfg.Leadership == daemon.NoLeadership:
		e.What, e.Next = "it is reading its journal", "try again in a moment"
	}
	return e
}

// ready returns why the frontend cannot serve others at the moment.
func (b *standby) ready() error {
	if err := b.closed(); err != nil {
		return err
	}
	select {
	case <-b.f.life.Ready():
		return nil
	default:
		return errors.New("starting")
	}
}

// succeededError is why a frontend that has lost its name ends.
type succeededError struct {
	reason error // of the loss
	err    api.Error
}

// Error returns the refusal as a line.
func (e *succeededError) Error() string { return e.err.Error() }

// Unwrap returns the refusal with its four parts, and why the name was lost.
func (e *succeededError) Unwrap() []error { return []error{&e.err, e.reason} }

// isOrderly reports whether an error is only that another process leads already while this one
// stops. A standby takes over as soon as it finds that the leader serves no more callers, which
// may be before the leader has resigned. It continues from what is in the journal, which is all
// that was acknowledged.
func (f *Frontend) isOrderly(err error) bool {
	select {
	case <-f.life.Stopping():
	default:
		return false
	}
	_, fenced := errors.AsType[*replica.FencedError](err)
	return fenced || errors.Is(err, leadership.ErrTakenOver)
}

// fail ends the frontend with a reason, unless it stops already and the reason is not a fault.
func (f *Frontend) fail(err error) {
	if f.isOrderly(err) {
		f.log.Info("another process leads this frontend before this one has stopped")
		return
	}
	f.life.Fail(err)
}

// closeJournal closes the journal.
func (f *Frontend) closeJournal() error {
	if err := f.service.journal.Close(); !f.isOrderly(err) {
		return err
	}
	return nil
}

// ended ends a frontend that has lost its name.
func (b *standby) ended(reason error) {
	err := &succeededError{reason: reason, err: succeeded(b.f.cfg.ID, reason, b.leader())}
	if b.serving.Swap(false) {
		go b.f.service.journal.Abandon(err) // it answers callers that wait, and the candidate must not wait for that
	}
	b.f.fail(err)
}

// run waits until this process has the frontend's name, takes over the journal and reads it.
func (b *standby) run(ctx context.Context, resume func(*replica.Store) error) error {
	c := &b.f.cfg
	leaders, journal, err := b.open(ctx)
	if err != nil || journal == nil {
		return err
	}
	b.f.metrics.watchReplica(journal.StreamBytes, journal.Snapshots)
	if c.Leadership != daemon.NoLeadership {
		err = b.wait(ctx, leaders, journal)
	}
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, journal.Close())
	}
	began := time.Now()
	if err := journal.Lead(ctx, b.token, func(error) {}); err != nil {
		return errors.Join(unlessEnded(ctx, err), journal.Close())
	}
	if err := resumed(ctx, journal.Abandon, func() error { return resume(journal) }); err != nil || ctx.Err() != nil {
		return err // a frontend that is to end does not begin to serve
	}
	b.serving.Store(true)
	if c.Leadership != daemon.NoLeadership {
		b.f.events.Publish(api.Event{Type: api.EventFrontendLeads, Severity: api.SeverityWarning, Message: fmt.Sprintf("frontend %s is led by %s at %s", c.ID, processName(), b.f.Addr())})
	}
	b.f.log.Info("this process leads the frontend", "stream", jetstore.JournalStream(c.Cluster, c.ID), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// open opens all that a candidate for the frontend's name needs of the servers: the store of
// leaderships, the keys and the journal, which is nil when ctx has ended.
func (b *standby) open(ctx context.Context) (leadership.Store, *replica.Store, error) {
	c := &b.f.cfg
	servers, err := b.f.life.JetStream(ctx, c.Settings, c.LeadershipSettings, fmt.Sprintf("frontend %q", c.ID))
	if err != nil {
		return nil, nil, unlessEnded(ctx, err)
	}
	b.servers = servers
	leaders, err := b.f.shareKeys(ctx, servers)
	if err != nil {
		return nil, nil, unlessEnded(ctx, err)
	}
	journal, err := b.openJournal(ctx, servers)
	return leaders, journal, err
}

// unlessEnded returns err, nil if it occurred because the daemon ends.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it came because the daemon ends
	}
	return err
}

// resumed calls resume, which writes to the journal's stream and repeats that until the servers answer.
// When ctx ends and they do not answer soon, abandon ends it.
func resumed(ctx context.Context, abandon func(error), resume func() error) error {
	resuming, done := context.WithCancel(context.Background())
	defer done()
	defer context.AfterFunc(ctx, func() {
		if delay.For(resuming, resignPatience) {
			abandon(context.Cause(ctx))
		}
	})()
	return unlessEnded(ctx, resume())
}

// openJournal opens the journal's stream. The result is nil when ctx has ended.
func (b *standby) openJournal(ctx context.Context, servers *jetstore.Store) (*replica.Store, error) {
	c := &b.f.cfg
	o := replica.Options{
		Cluster: c.Cluster, ClusterID: servers.ClusterID(), Frontend: c.ID, JetStream: servers.JetStream(), Replicas: c.NATSReplicas,
		Dir: filepath.Join(replicaFolder(c.Data), "stream"), FS: c.journalDisk(), MaxBytes: c.JournalBytes,
		Who: processName() + " at " + b.f.Addr(), Log: b.f.log,
	}
	return openPatiently(ctx, b.f.log, func(try context.Context) (*replica.Store, error) { return replica.Open(try, o) })
}

// openPatiently opens a journal's stream, and tries again while the servers cannot be reached. After
// a try that used up its time the next one has twice as much: it may have been reading a large
// snapshot, which the next one has to read again. The result is nil when ctx has ended.
func openPatiently(ctx context.Context, log *slog.Logger, open func(context.Context) (*replica.Store, error)) (*replica.Store, error) {
	patience := openPatience
	for logged := false; ; {
		try, cancel := context.WithTimeout(ctx, patience)
		j, err := open(try)
		if try.Err() != nil {
			patience = min(2*patience, mostPatience)
		}
		cancel()
		if err == nil {
			return j, nil
		}
		if e, ok := errors.AsType[*api.Error](err); ctx.Err() != nil || !ok || e.Problem != api.NotReady {
			return nil, unlessEnded(ctx, err)
		}
		if !logged {
			logged = true
			log.Warn("the journal's stream cannot be reached, or was not read in time; it is tried again", "error", err)
		}
		if !delay.For(ctx, followEvery) {
			return nil, nil
		}
	}
}

// wait returns when this process has the frontend's name. Meanwhile it keeps its copy of the
// journal up to date, and checks whether the leader's process lives.
func (b *standby) wait(ctx context.Context, leaders leadership.Store, journal *replica.Store) error {
	running, end := context.WithCancel(context.Background())
	candidate := b.newCandidate(leaders, end)
	b.candidate.Store(candidate)
	var runs sync.WaitGroup
	runs.Go(func() { candidate.Run(running) })
	b.f.life.OnClose(func() error { // after the journal's, so that everything is written when another takes over
		resigning, cancel := context.WithTimeout(context.Background(), resignPatience)
		defer cancel()
		led := b.token != 0 || candidate.Leads()
		if err := candidate.Resign(resigning); err != nil && led {
			b.f.log.Info("the frontend's name lapses by itself", "error", err)
		}
		end()
		runs.Wait()
		return nil
	})
	copied := following{journal.Follow, followEvery}
	follow, probe := time.NewTicker(followEvery), time.NewTicker(probeEvery)
	defer follow.Stop()
	defer probe.Stop()
	var renewals renewals
	for {
		select {
		case b.token = <-b.led:
			b.twin.Store(false)
			return nil
		case <-ctx.Done():
			return nil
		case <-probe.C:
			leader, known := candidate.Leader()
			own := known && leader.Address == b.f.Addr()
			b.setAddressConflict(own && renewals.of(leader, candidate.Revision()) >= aliveAfter)
			if known && !own {
				b.f.life.MarkReady() // it stands by
			}
		case <-follow.C:
			if err := copied.follow(ctx); err != nil {
				return err
			}
		}
	}
}

// setAddressConflict keeps whether another process leads at the address of this one, as two machines whose frontends
// have the default address do. A former process at this address does not renew its leadership, which lapses.
func (b *standby) setAddressConflict(leads bool) {
	if leads && !b.twin.Load() {
		b.f.log.Warn("another process leads this frontend at the address of this one", "address", b.f.Addr(), "next", addressConflictAdvice)
	}
	b.twin.Store(leads)
}

// renewals counts those of a leader.
type renewals struct {
	leader   leadership.Record
	revision uint64 // as last seen
	seen     int
}

// of returns how many renewals of the leader were seen, with the newest revision of its record.
func (r *renewals) of(leader leadership.Record, revision uint64) int {
	switch {
	case leader != r.leader:
		*r = renewals{leader: leader, revision: revision}
	case revision != r.revision:
		r.revision, r.seen = revision, r.seen+1
	}
	return r.seen
}

// following keeps the copy of the journal up to date.
type following struct {
	read     func(context.Context) error
	patience time.Duration // with the servers, for one reading
}

// follow brings the copy up to date. Servers that do not answer are no error. After a reading that
// used up its time the next one has twice as much: a copy that ends before the stream begins is made
// again from a snapshot, from its beginning each time.
func (f *following) follow(ctx context.Context) error {
	reading, cancel := context.WithTimeout(ctx, f.patience)
	defer cancel()
	err := f.read(reading)
	if err == nil {
		f.patience = followEvery
		return nil
	}
	if reading.Err() != nil {
		f.patience = min(2*f.patience, mostPatience)
		return nil
	}
	if e, ok := errors.AsType[*api.Error](err); ok && e.Problem == api.NotReady {
		return nil
	}
	return err
}
