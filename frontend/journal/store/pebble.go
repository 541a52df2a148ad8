package store

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/time/rate"
)

// Sizes in bytes.
const (
	memtableBytes = 32 << 20
	cacheBytes    = 16 << 20
)

// ErrEnded is returned by Open when the store has failed in a way that it reports
// to Options.Broken.
var ErrEnded = errors.New("the store failed while opening")

// pebbleOptions sets the store up for many small appends and point look-ups.
// Values are never rewritten, so the defaults of compaction fit.
func pebbleOptions(o Options, broken func(error)) *pebble.Options {
	if o.MemtableBytes == 0 {
		o.MemtableBytes = memtableBytes
	}
	stalls, damages := rate.Sometimes{Interval: time.Minute}, rate.Sometimes{Interval: time.Minute}
	po := &pebble.Options{
		FS:                          storeFS{o.FS, broken},
		FormatMajorVersion:          pebble.FormatWALSyncChunks, // its log chunks carry what was synced before them
		MemTableSize:                o.MemtableBytes,
		MemTableStopWritesThreshold: 4,
		CacheSize:                   cacheBytes,
		Logger:                      logger{o.Logger, broken},
		EventListener: &pebble.EventListener{
			// The store would try again at once and forever. Its goroutine ends here
			// instead, and its deferred functions release its locks.
			BackgroundError: func(err error) {
				broken(err)
				runtime.Goexit()
			},
			// Nothing is journaled meanwhile, and no error says so.
			WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
				stalls.Do(func() {
					o.Logger.Warn("the journal waits until its store has merged tables", "reason", info.Reason)
				})
			},
			// The reader of the damaged part gets the error as well.
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				damages.Do(func() { o.Logger.Error("journal store: " + info.String()) })
			},
		},
	}
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return po
}

// logger logs the store's lines at debug level, and calls broken where the store would
// end the process.
type logger struct {
	log    *slog.Logger
	broken func(error)
}

func (l logger) Infof(format string, args ...any) {
	l.log.Debug("journal store: " + fmt.Sprintf(format, args...))
}

func (l logger) Errorf(format string, args ...any) {
	l.log.Warn("journal store: " + fmt.Sprintf(format, args...))
}

// Fatalf must not return, by the store's contract. Only the goroutine that met
// the fault ends; the caller of the store notices in a deferred function.
func (l logger) Fatalf(format string, args ...any) {
	l.broken(newFault(format, args))
	runtime.Goexit()
}

// fault is the text of a fatal error of the store, with the error inside it.
type fault struct {
	line  string
	cause error
}

func newFault(format string, args []any) fault {
	f := fault{line: fmt.Sprintf(format, args...)}
	for _, a := range args {
		if err, ok := a.(error); ok {
			f.cause = err
		}
	}
	return f
}

func (f fault) Error() string { return f.line }
func (f fault) Unwrap() error { return f.cause }

// storeFS is the disk as the store sees it.
type storeFS struct {
	vfs.FS
	broken func(error)
}

// ReuseForWrite makes every log a new file. The store would write a new log over an old
// one, whose remains behind the new end cannot be distinguished from damage.
func (f storeFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.Remove(old); err != nil {
		return nil, err
	}
	return f.Create(name, c)
}

// Create makes the names in the folder durable before it makes a marker, the file whose
// name states which manifest counts. After a power failure the marker could otherwise name
// a manifest that is not there.
func (f storeFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		if err := SyncFolder(f, f.PathDir(name)); err != nil {
			return nil, err
		}
	}
	file, err := f.FS.Create(name, c)
	if err == nil && strings.HasSuffix(name, ".log") {
		file = storeLog{file, f.broken}
	}
	return file, err
}

// storeLog is a log of the store that breaks it when it cannot be written. The store would learn of that with a
// later batch, where nothing waits for the log, and end the process in a panic.
type storeLog struct {
	vfs.File
	broken func(error)
}

// check ends the log's goroutine after an error: what the store does next would be in vain.
func (l storeLog) check(err error) {
	if err != nil {
		l.broken(err)
		select {}
	}
}

// Write implements vfs.File.
func (l storeLog) Write(p []byte) (int, error) {
	n, err := l.File.Write(p)
	l.check(err)
	return n, nil
}

// OpenDir opens a folder that breaks the store when it cannot be synced.
func (f storeFS) OpenDir(name string) (vfs.File, error) {
	d, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return storeFolder{d, f.broken}, nil
}

// Unwrap implements vfs.FS.
func (f storeFS) Unwrap() vfs.FS { return f.FS }

// storeFolder is a folder of the store.
type storeFolder struct {
	vfs.File
	broken func(error)
}

// Sync makes the names in the folder durable. The store would end the process in a panic
// when that fails, because then it does not know which names are durable. Its goroutine
// ends instead, as by Fatalf.
func (d storeFolder) Sync() error {
	if err := d.File.Sync(); err != nil {
		d.broken(err)
		runtime.Goexit()
	}
	return nil
}

// openPebble opens the store on a goroutine of its own, because Fatalf may end it and a
// full disk may block it forever; broken is closed then. The store panics on some damage;
// that is an error here.
func openPebble(dir string, o *pebble.Options, broken <-chan struct{}) (*pebble.DB, error) {
	type opened struct {
		db  *pebble.DB
		err error
	}
	done := make(chan opened, 1)
	merges := newCompactions()
	o.Experimental.CompactionScheduler = merges
	go func() {
		r := opened{err: ErrEnded}
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("%w: the store panicked: %v", pebble.ErrCorruption, p)
			}
			done <- r
		}()
		r.db, r.err = pebble.Open(dir, o)
	}()
	select {
	case r := <-done:
		if r.err == nil {
			merges.allow()
		}
		return r.db, r.err
	case <-broken:
		return nil, ErrEnded
	}
}
