package journal

import (
	"github.com/pigeon-sched/pigeon/frontend/journal/replica"
	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// backing is what a journal needs of its store: keys and values, ordered by key,
// changed by batches. [store.Disk] is one; [replica.Store] is another, which puts each batch
// on other hosts before it is durable.
type backing interface {
	// Append applies the changes of the batch, all or none, after those of every batch
	// before it. With durable it returns when they can no longer be lost. The journal
	// calls it from one goroutine.
	Append(b *store.Batch, durable bool) error
	// Get returns the value under the key, nil when there is none.
	Get(key []byte) ([]byte, error)
	// Scan calls visit with the keys from one, included, to another, excluded, in
	// their order, with their values as of the moment of the call: over all keys, that
	// is a snapshot. Batches may be appended meanwhile.
	Scan(from, to []byte, visit func(key, value []byte) error) error
	// Space returns how many bytes the store occupies and how many more are free.
	Space() (used, free uint64, err error)
	// Memory returns how many bytes the store holds in memory.
	Memory() uint64
	// NewestLog names the file that held the newest batches at the opening, for
	// errors.
	NewestLog() string
	// Close makes durable what was appended and ends the store.
	Close() error
}

// openDisk opens the store on this host's disk.
func openDisk(dir string, lock *store.DirLock, o store.Options) (backing, error) {
	d, err := store.Open(dir, lock, o)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// abandoner is a backing whose calls can be ended, so that the journal can be closed although
// it is broken.
type abandoner interface {
	// Abandon ends every call in progress, and refuses every later one, with the reason.
	Abandon(reason error)
}

// useReplica makes the journal write to a store that already leads.
func useReplica(s *replica.Store) func(string, *store.DirLock, store.Options) (backing, error) {
	return func(_ string, _ *store.DirLock, o store.Options) (backing, error) {
		s.OnBroken(o.Broken)
		return s, nil
	}
}
