package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// Options configures a [Disk].
type Options struct {
	// MustExist makes Open return a DamageError when the folder holds no store.
	MustExist bool
	// ReadOnly opens an existing store without changing a file of it.
	ReadOnly bool
	// Broken is called when the store fails for good, from any goroutine, while a
	// call of the store may be blocked forever: with a *DamageError where it cannot
	// merge its tables because of damage. It must not block.
	Broken func(error)
	// Logger gets the store's own lines, most of them at debug level.
	Logger *slog.Logger
	// MemtableBytes is how many bytes the store keeps in memory before it writes a table;
	// 0 is 32 MiB. It bounds what is read back from the logs when the store opens.
	MemtableBytes uint64
	// FS is where the files are; nil is the disk of this host.
	FS vfs.FS
}

// Disk is a store on the disk of this host. Append has one caller at a time; the
// other methods may be called from any goroutine until Close.
type Disk struct {
	dir string
	fs  vfs.FS
	db  *pebble.DB
	log string // path of the newest log when the store was opened, "" for a new store

	broken func(error) // Options.Broken
}

// Open opens the store in a locked folder, and makes one there unless it must
// exist. The error is a *DamageError, ErrEnded when the store called Broken, or
// the system's error.
func Open(dir string, lock *DirLock, o Options) (*Disk, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	d := &Disk{dir: dir, fs: o.FS, log: newestLog(dir, o.FS), broken: o.Broken}
	broken := make(chan struct{})
	var once sync.Once
	po := pebbleOptions(o, func(err error) {
		o.Broken(asDamage(err)) // first: a caller that learns that it is broken asks why
		once.Do(func() { close(broken) })
	})
	po.Lock, po.ErrorIfNotExists, po.ReadOnly = lock.lock, o.MustExist, o.ReadOnly
	var err error
	d.db, err = openPebble(dir, po, broken)
	if err == nil && d.log == "" {
		// The first log of a new store is begun before its format is set, without
		// the offsets that prove damage. The second has them.
		if err = d.db.Close(); err == nil {
			d.db, err = openPebble(dir, po, broken)
		}
	}
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return nil, &DamageError{Err: fmt.Errorf("the folder is marked as a journal and its store is missing: %w", err)}
	case o.MustExist && errors.Is(err, fs.ErrNotExist):
		return nil, &DamageError{Err: err}
	}
	return nil, asDamage(err)
}

// newestLog names the log with the highest number, for errors only.
func newestLog(dir string, fs vfs.FS) string {
	logs, err := wal.Scan(wal.Dir{FS: fs, Dirname: dir})
	if err != nil || len(logs) == 0 {
		return ""
	}
	_, path := logs[len(logs)-1].SegmentLocation(0)
	return path
}

// NewestLog returns the path of the file that held the newest batches when the
// store was opened, "" for a new store.
func (d *Disk) NewestLog() string { return d.log }

// Append applies the changes of the batch. A durable batch, and every one before
// it, is on the disk when Append returns.
func (d *Disk) Append(b *Batch, durable bool) error {
	p := d.db.NewBatch()
	var errs error
	for _, c := range b.changes {
		key := b.keys[c.from:c.to]
		var err error
		switch c.kind {
		case setKey:
			err = p.Set(key, c.value, nil)
		case deleteKey:
			err = p.Delete(key, nil)
		case deleteRange:
			err = p.DeleteRange(key, b.keys[c.to:c.end], nil)
		}
		errs = errors.Join(errs, err)
	}
	mode := pebble.NoSync
	if durable {
		mode = pebble.Sync
	}
	if errs == nil {
		errs = d.commit(p, mode)
	}
	return asDamage(errors.Join(errs, p.Close()))
}

// commit applies a batch. The store panics when its log could not be written for an earlier batch that was not
// durable, and then holds locks: it is broken.
func (d *Disk) commit(p *pebble.Batch, mode *pebble.WriteOptions) (err error) {
	defer func() {
		why := recover()
		cause, ok := why.(error)
		if _, bug := why.(runtime.Error); why != nil && (!ok || bug) {
			panic(why)
		}
		if why != nil {
			err = cause
			d.broken(asDamage(cause))
		}
	}()
	return p.Commit(mode)
}

// Get returns a copy of the value under the key, nil when there is none.
func (d *Disk) Get(key []byte) ([]byte, error) {
	v, closer, err := d.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, asDamage(err)
	}
	value := append(make([]byte, 0, len(v)), v...)
	return value, asDamage(closer.Close())
}

// Scan calls visit with the keys from one, included, to another, excluded, in
// their order, and with their values as they were when Scan was called. Both are
// valid during the call only. An error of visit ends the scan and is returned.
func (d *Disk) Scan(from, to []byte, visit func(key, value []byte) error) error {
	return d.scan(from, to, (*pebble.Iterator).First, (*pebble.Iterator).Next, visit)
}

// ScanBack is Scan in the opposite order.
func (d *Disk) ScanBack(from, to []byte, visit func(key, value []byte) error) error {
	return d.scan(from, to, (*pebble.Iterator).Last, (*pebble.Iterator).Prev, visit)
}

func (d *Disk) scan(from, to []byte, first, next func(*pebble.Iterator) bool, visit func(key, value []byte) error) error {
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return asDamage(err)
	}
	var stop error
	for ok := first(it); ok && stop == nil; ok = next(it) {
		var v []byte
		if v, err = it.ValueAndErr(); err != nil {
			break
		}
		stop = visit(it.Key(), v)
	}
	return errors.Join(stop, asDamage(errors.Join(err, it.Error(), it.Close())))
}

// Space returns how many bytes the store occupies on the disk, and how many are free
// there.
func (d *Disk) Space() (used, free uint64, err error) {
	u, err := d.fs.GetDiskUsage(d.dir)
	return d.db.Metrics().DiskSpaceUsage(), u.AvailBytes, err
}

// Memory returns how many bytes the store holds in memory: its tables that are not on the
// disk yet, up to four of 32 MiB, and its cache of blocks, up to 16 MiB.
func (d *Disk) Memory() uint64 {
	m := d.db.Metrics()
	return m.MemTable.Size + m.MemTable.ZombieSize + uint64(max(m.BlockCache.Size, 0)) //nolint:gosec // not negative
}

// Close writes to the disk what was appended and closes the store.
func (d *Disk) Close() error { return asDamage(d.db.Close()) }

// DirLock is the right of this process to use a folder. It ends with the process.
type DirLock struct{ lock *pebble.Lock }

// LockFile is the name of the file in a folder that is locked.
const LockFile = "LOCK"

// Lock locks the folder for this process.
func Lock(fs FS, dir string) (*DirLock, error) {
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, err
	}
	return &DirLock{lock}, nil
}

// Release unlocks the folder.
func (l *DirLock) Release() error { return l.lock.Close() }
