package replica

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
)

// Store is the store of a journal in a JetStream stream, with a copy on this host. After Lead it is
// written to by one goroutine; Get, Scan, Space, Memory and Abandon may be called from any.
type Store struct {
	opts    Options
	js      jetstream.JetStream
	name    string
	subject string

	stream   jetstream.Stream
	id       string // of the stream
	maxBytes int64  // of the stream, 0 or less for none

	lock     *store.DirLock
	disk     *store.Disk
	diskLock *store.DirLock
	broke    atomic.Pointer[error] // why the copy cannot be written or closed any more; nil while it can
	copyGone chan struct{}         // closed when broke is set
	met      atomic.Bool           // damage to the copy was met

	ctx    context.Context // of all calls after Lead; its cause is why this process must not write
	cancel context.CancelCauseFunc
	broken atomic.Pointer[func(error)]
	active sync.WaitGroup
	closed sync.Once

	// mu is held while the stream is read or written.
	mu       sync.Mutex
	leads    bool
	writer   uint64   // names this process in its messages
	last     position // of the last message of the stream
	tail     tail
	compared uint64   // the copy was compared with the stream up to this message
	applied  position // of the copy
	batch    store.Batch
	lazy     []byte // encoded changes that the next durable batch takes along
	flush    *time.Timer
	flushing bool // the timer runs

	// The snapshots.
	wake            chan struct{} // of size 1
	bucket          jetstream.ObjectStore
	snapshotAt      atomic.Uint64 // sequence number of the newest that is known
	snapshotSize    atomic.Int64  // of the newest
	sinceSnapshot   atomic.Uint64 // bytes
	messages        atomic.Uint64 // in the stream
	bytes           atomic.Uint64 // of the stream
	full            atomic.Pointer[string]
	madeSnapshots   atomic.Uint64
	failedSnapshots atomic.Uint64
}

// Open opens or makes the stream, opens the copy and reads the stream to its end. It changes
// nothing in the stream. The error names what cannot be trusted, or what cannot be reached within
// the context.
func Open(ctx context.Context, o Options) (_ *Store, err error) {
	o = o.withDefaults()
	s := &Store{opts: o, js: o.JetStream, name: jetstore.JournalStream(o.Cluster, o.Frontend), subject: jetstore.JournalSubject(o.Cluster, o.Frontend), wake: make(chan struct{}, 1), copyGone: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	of, err := s.openCopy()
	if err != nil {
		return nil, err
	}
	if err := s.openStream(ctx, of); err != nil {
		return nil, err
	}
	if of != s.id {
		if err := s.emptyCopy(reasonFor(of)); err != nil {
			return nil, err
		}
	}
	s.tail.end = s.applied
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	s.active.Go(func() { s.snapshots(s.ctx) })
	return s, nil
}

// Follow reads the stream to its end, for a standby that wants to be ready. It is not called after
// Lead.
func (s *Store) Follow(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catchUp(ctx)
}

// ErrFollows is returned for a batch before Lead.
var ErrFollows = errors.New("this process only follows the journal's stream")

// Append applies the changes of a batch, all or none, after those of every batch before it. With
// durable it returns when the stream's replicas have them. Without, they wait for the next durable
// batch, a moment at most; Get and Scan show them from then on.
func (s *Store) Append(b *store.Batch, durable bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leads {
		return ErrFollows
	}
	if err := context.Cause(s.ctx); err != nil {
		return err
	}
	s.lazy = b.AppendTo(s.lazy)
	if !durable && len(s.lazy) < lazyBytes {
		if !s.flushing {
			s.flushing = true
			s.active.Add(1)
			s.flush = time.AfterFunc(s.opts.lazyFor, s.flushLate)
		}
		return nil
	}
	return s.writeLazy(s.ctx)
}

// writeLazy writes what waits as one batch.
func (s *Store) writeLazy(ctx context.Context) error {
	s.stopFlush()
	err := s.write(ctx, s.lazy)
	if cap(s.lazy) > 4*lazyBytes {
		s.lazy = nil
	}
	s.lazy = s.lazy[:0]
	if err == nil && s.snapshotDue() {
		s.trySnapshot()
	}
	if err != nil {
		s.cancel(err) // part of it may be in the stream: nothing may follow
	}
	return err
}

// stopFlush ends the timer of flushLate. It needs the lock.
func (s *Store) stopFlush() {
	if s.flushing && s.flush.Stop() {
		s.active.Done()
	}
	s.flushing = false
}

// flushLate writes what waits for a durable batch that did not come.
func (s *Store) flushLate() {
	defer s.active.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.flushing || s.ctx.Err() != nil || len(s.lazy) == 0 {
		return
	}
	s.flushing = false
	if err := s.writeLazy(s.ctx); err != nil {
		s.fail(err)
	}
}

// OnBroken sets the function to be called in place of the one that was passed to Lead.
func (s *Store) OnBroken(broken func(error)) { s.broken.Store(&broken) }

// fail reports to the user of the store, after Lead, that it cannot write any more.
func (s *Store) fail(err error) {
	if broken := s.broken.Load(); broken != nil {
		(*broken)(err)
	}
}

// Abandon ends every call in progress, and refuses every later one, with the reason. What these
// calls wrote may be in the stream or not.
func (s *Store) Abandon(reason error) { s.cancel(reason) }

// Get returns the value under the key, nil when there is none.
func (s *Store) Get(key []byte) ([]byte, error) {
	v, err := s.disk.Get(key)
	return v, s.marked(err)
}

// Scan calls visit with the keys from one, included, to another, excluded, in their order.
func (s *Store) Scan(from, to []byte, visit func(key, value []byte) error) error {
	return s.marked(s.disk.Scan(from, to, visit))
}

// Space returns how many bytes the copy occupies, and how many are free: on this host's disk or in
// the stream, whichever is less.
func (s *Store) Space() (used, free uint64, err error) {
	used, free, err = s.disk.Space()
	if s.full.Load() != nil {
		return used, 0, err
	}
	if s.maxBytes > 0 {
		left := max(s.maxBytes-int64(s.bytes.Load()), 0) //nolint:gosec // a size
		free = min(free, uint64(left))                   //nolint:gosec // not negative
	}
	return used, free, err
}

// MaxBytes returns how many bytes the stream may have at most.
func (s *Store) MaxBytes() uint64 {
	if s.maxBytes <= 0 { // of a stream that an operator has edited
		return math.MaxInt64
	}
	return uint64(s.maxBytes)
}

// Place names where the space is, for errors.
func (s *Store) Place() string {
	return "the stream " + s.name + " or on the disk of " + s.opts.Dir
}

// Memory returns how many bytes the store holds in memory.
func (s *Store) Memory() uint64 { return s.disk.Memory() }

// NewestLog names the stream, for errors.
func (s *Store) NewestLog() string { return "stream " + s.name }

// StreamBytes returns about how many bytes the stream has.
func (s *Store) StreamBytes() uint64 { return s.bytes.Load() }

// Snapshots returns how many snapshots were made, and how many failed.
func (s *Store) Snapshots() (made, failed uint64) {
	return s.madeSnapshots.Load(), s.failedSnapshots.Load()
}

// Close writes what waits, unless the store was abandoned, and ends it. It waits for the servers for
// some seconds at most.
func (s *Store) Close() (err error) {
	s.closed.Do(func() { err = s.close() })
	return err
}

// closePatience bounds how long Close waits for the servers.
const closePatience = 3 * time.Second

func (s *Store) close() (err error) {
	s.mu.Lock()
	if s.leads && s.ctx.Err() == nil && len(s.lazy) > 0 {
		ctx, cancel := context.WithTimeout(s.ctx, closePatience)
		err = s.writeLazy(ctx)
		cancel()
	}
	s.cancel(store.ErrEnded)
	s.leads = false
	s.stopFlush()
	s.mu.Unlock()
	s.active.Wait()
	if s.broke.Load() != nil {
		return err // it may hold the locks that closing it needs
	}
	err = errors.Join(err, s.closeDisk())
	if s.lock != nil {
		err = errors.Join(err, s.lock.Release())
	}
	return err
}
