package journal

import (
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/replica"
	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Options configures a journal.
type Options struct {
	// Frontend is the name of the frontend that the journal belongs to. The journal of
	// another name is refused. "" accepts any name.
	Frontend string
	// Life is called once, before any visit, with the incarnation that this opening begins
	// (Report.Incarnation) and the scope of the journal's job ids (Report.Scope). An error ends the
	// opening and nothing was changed. Both are on the disk when Open returns, also with NoSync; if
	// the process dies before, the next opening may begin the same incarnation. Life may be nil.
	Life func(incarnation uint64, scope sched.JobScope) error
	// NoSync omits the fsync: what was acknowledged survives the end of the
	// process, not that of the machine.
	NoSync bool
	// Retention is how long the key and the last status of an ended job are kept;
	// 0 is an hour. Only the time counts during which the journal is open.
	Retention time.Duration
	// MaxEnded bounds the ended jobs that are kept; past it the oldest are forgotten before
	// their retention is over. 0 is 1,000,000.
	MaxEnded int
	// MaxQueued bounds the bytes of records that wait to be written; 0 is 64 MiB.
	// Past it new jobs are refused; past four times it, everything.
	MaxQueued int
	// MaxBytes bounds the journal on the disk; past it new jobs are refused. 0 is
	// 64 GiB.
	MaxBytes uint64
	// MinFree is what must stay free on the disk for new jobs to be accepted, so
	// that the ends of the accepted ones can still be written; 0 is 256 MiB, and with a
	// replica at most a quarter of its stream.
	MinFree uint64
	// Now is this host's wall clock; nil is time.Now. It is the age of a new journal.
	Now func() time.Time
	// Elapsed is the time since the opening, by a monotonic clock; nil is that of Now. It
	// times the retention.
	Elapsed func() time.Duration
	// FS is where all files of the journal are; nil is the disk of this host. Tests pass others,
	// and disks that fail.
	FS store.FS
	// Replica, if set, holds the journal on other hosts too. It must lead, and belongs to the
	// journal from then on, also when Open fails. The folder then holds the witness and
	// the mark only. nil is a store in the folder.
	Replica *replica.Store
	// Logger gets the store's own lines at debug level; nil drops them.
	Logger *slog.Logger
	// Damaged is called when damage that was met at work has broken the journal, from any goroutine,
	// and must not block; nil is nobody.
	Damaged func(error)

	// openStore opens the store of a locked folder; nil is openDisk.
	openStore func(dir string, lock *store.DirLock, o store.Options) (backing, error)
}

func (o Options) withDefaults() Options {
	if o.Retention <= 0 {
		o.Retention = time.Hour
	}
	if o.MaxQueued <= 0 {
		o.MaxQueued = 64 << 20
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 30
	}
	if o.MinFree == 0 {
		o.MinFree = minFree
		if o.Replica != nil {
			o.MinFree = min(o.MinFree, o.Replica.MaxBytes()/4)
		}
	}
	if o.Life == nil {
		o.Life = func(uint64, sched.JobScope) error { return nil }
	}
	if o.Damaged == nil {
		o.Damaged = func(error) {}
	}
	if o.FS == nil {
		o.FS = store.HostFS()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Elapsed == nil {
		o.Elapsed = elapsedSince(o.Now)
	}
	if o.MaxEnded <= 0 {
		o.MaxEnded = 1_000_000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Replica != nil {
		o.openStore, o.NoSync = useReplica(o.Replica), false
	}
	if o.openStore == nil {
		o.openStore = openDisk
	}
	return o
}
