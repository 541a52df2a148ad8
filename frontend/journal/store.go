package journal

import (
	"fmt"
	"log/slog"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Sizes of the store, in bytes. What is in memory when the process dies is read
// back from the log, so the memtable bounds the time of a restart as well.
const (
	memtableBytes = 32 << 20
	cacheBytes    = 16 << 20
)

// storeOptions sets the store up for many small appends and point look-ups.
// Values are never rewritten, so the defaults of compaction fit.
func storeOptions(fs vfs.FS, log *slog.Logger, broken func(error)) *pebble.Options {
	o := &pebble.Options{
		FS:                          noReuse{fs},
		FormatMajorVersion:          pebble.FormatWALSyncChunks, // its log chunks say what was synced before them
		MemTableSize:                memtableBytes,
		MemTableStopWritesThreshold: 4,
		CacheSize:                   cacheBytes,
		Logger:                      storeLogger{log, broken},
		EventListener: &pebble.EventListener{
			// The store would try again at once and for ever. Its goroutine ends here
			// instead, with its locks let go by its deferred functions.
			BackgroundError: func(err error) { broken(err); runtime.Goexit() },
			// Whoever reads the damaged part gets the error as well.
			DataCorruption: func(info pebble.DataCorruptionInfo) { log.Error("journal store: " + info.String()) },
		},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

// storeLogger turns the store's log lines into debug lines, and what the store
// takes for a reason to end the process into a broken journal.
type storeLogger struct {
	log    *slog.Logger
	broken func(error)
}

func (l storeLogger) Infof(format string, args ...any) {
	l.log.Debug("journal store: " + fmt.Sprintf(format, args...))
}

func (l storeLogger) Errorf(format string, args ...any) {
	l.log.Warn("journal store: " + fmt.Sprintf(format, args...))
}

// Fatalf must not return, by the store's contract. Only the goroutine that met
// the fault ends; a committer or an opener notices in its deferred function.
func (l storeLogger) Fatalf(format string, args ...any) {
	l.broken(newStoreFault(format, args))
	runtime.Goexit()
}

// storeFault keeps the cause that the store has put into a line of text.
type storeFault struct {
	line  string
	cause error
}

func newStoreFault(format string, args []any) storeFault {
	f := storeFault{line: fmt.Sprintf(format, args...)}
	for _, a := range args {
		if err, ok := a.(error); ok {
			f.cause = err
		}
	}
	return f
}

func (f storeFault) Error() string { return f.line }
func (f storeFault) Unwrap() error { return f.cause }

// noReuse makes every log a new file. The store would write a new log over an
// old one, whose remains behind the new end cannot be told from damage.
type noReuse struct{ vfs.FS }

func (f noReuse) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.Remove(old); err != nil {
		return nil, err
	}
	return f.Create(name, c)
}

func (f noReuse) Unwrap() vfs.FS { return f.FS }

// openStore opens the store on a goroutine of its own, because Fatalf may end it
// and a full disk may stop it for ever: givenUp tells that. The store panics on
// some damage; that is an error here.
func openStore(dir string, o *pebble.Options, givenUp <-chan struct{}) (*pebble.DB, error) {
	type opened struct {
		db  *pebble.DB
		err error
	}
	done := make(chan opened, 1)
	go func() {
		r := opened{err: errStoreEnded}
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
		return r.db, r.err
	case <-givenUp:
		return nil, errStoreEnded
	}
}
