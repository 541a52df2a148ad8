package audit

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a log.
const (
	mostQueued  = 8192     // decisions that wait to be written
	mostBytes   = 64 << 20 // of one file; 5 full ones are kept in addition
	mostRefused = 200      // refusals of one second: a flood of them must not push others out of the files
)

// Options of a [Log].
type Options struct {
	Path   string // "" for no log
	Daemon string // that decides, as lines name it
	Log    *slog.Logger

	maxBytes int64 // for tests
	now      func() time.Time
}

// Log is an audit log. Its methods may be called from any goroutine, and those of a nil *Log do
// nothing.
type Log struct {
	opts    Options
	file    *file
	missing atomic.Uint64 // decisions that were not written, since the last line
	lost    atomic.Uint64 // in all
	written atomic.Uint64

	mu     sync.Mutex
	queued []queued
	second int64 // of the refusals that were counted
	refuse int
	closed bool
	wake   chan struct{} // of size 1
	ended  chan struct{}
}

type queued struct {
	Decision
	at time.Time
}

// Open opens the log; without a path the result is nil. The error is an *api.Error.
func Open(o Options) (*Log, error) {
	if o.Path == "" {
		return nil, nil
	}
	if o.maxBytes == 0 {
		o.maxBytes = mostBytes
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f, err := openFile(o.Path, o.maxBytes)
	if err != nil {
		return nil, err
	}
	l := &Log{opts: o, file: f, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go l.run()
	return l, nil
}

// Decide writes a decision, later; it does not wait.
func (l *Log) Decide(d Decision) {
	if l == nil || d.Reads && d.Refusal == nil {
		return
	}
	now := l.opts.now()
	l.mu.Lock()
	room := !l.closed && len(l.queued) < mostQueued && l.roomForRefusal(&d, now)
	if room {
		l.queued = append(l.queued, queued{d, now})
	}
	l.mu.Unlock()
	if !room {
		l.lose(1)
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// roomForRefusal counts a refusal, and reports whether it may be written. The lock is held.
func (l *Log) roomForRefusal(d *Decision, now time.Time) bool {
	if d.Refusal == nil {
		return true
	}
	if s := now.Unix(); s != l.second {
		l.second, l.refuse = s, 0
	}
	l.refuse++
	return l.refuse <= mostRefused
}

func (l *Log) lose(n uint64) {
	l.missing.Add(n)
	l.lost.Add(n)
}

// run writes what is queued until the log is closed.
func (l *Log) run() {
	defer close(l.ended)
	failed := false
	for range l.wake {
		l.mu.Lock()
		batch, closed := l.queued, l.closed
		l.queued = nil
		l.mu.Unlock()
		if err := l.write(batch); err != nil {
			if !failed {
				l.opts.Log.Error("the audit log cannot be written; what is decided meanwhile is missing there", "file", l.opts.Path, "error", err)
			}
			failed = true
			l.lose(uint64(len(batch)))
		} else if len(batch) > 0 {
			failed = false
		}
		if closed {
			return
		}
	}
}

func (l *Log) write(batch []queued) error {
	if len(batch) == 0 {
		return nil
	}
	missing := l.missing.Load()
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	out.SetEscapeHTML(false)
	for i := range batch {
		e := entry(l.opts.Daemon, &batch[i].Decision, batch[i].at, 0)
		if i == 0 {
			e.Missing = missing
		}
		if err := out.Encode(&e); err != nil {
			return err
		}
	}
	if err := l.file.write(lines.Bytes()); err != nil {
		return err
	}
	l.missing.Add(-missing)
	l.written.Add(uint64(len(batch)))
	return nil
}

// Stats returns how many decisions were written and how many are missing.
func (l *Log) Stats() (written, missing uint64) {
	if l == nil {
		return 0, 0
	}
	return l.written.Load(), l.lost.Load()
}

// Close writes what is queued and closes the file. It is safe to call twice.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if !first {
		<-l.ended
		return nil
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	<-l.ended
	return l.file.close()
}
