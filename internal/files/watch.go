package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// PollEvery is how often a file is looked at. Its content is compared, because changes of
// names, links and times do not show on all file systems whether it changed.
const PollEvery = time.Second

// Watcher calls a function when a file changes, or when Reload is called. Make one
// with New.
type Watcher struct {
	file   string
	every  time.Duration
	reload func()
	asked  chan struct{}
}

// NewWatcher returns a watcher of a file.
func NewWatcher(file string, every time.Duration, reload func()) *Watcher {
	return &Watcher{file: file, every: every, reload: reload, asked: make(chan struct{}, 1)}
}

// Reload makes Run call the function, at once or as soon as it runs. It may be called from
// anywhere.
func (w *Watcher) Reload() {
	select {
	case w.asked <- struct{}{}:
	default: // it has not been called yet since the last Reload
	}
}

// Run calls the function at once, because the file may have changed since its caller read
// it; then each time the file has changed and not changed again for the time between two
// looks, so that a file is not read while it is being written; and when Reload is called. It
// returns when ctx is done.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	done := w.content()
	last := done
	w.reload()
	for {
		select {
		case <-tick.C:
			now := w.content()
			if bytes.Equal(now, last) && !bytes.Equal(now, done) {
				done = now
				w.reload()
			}
			last = now
		case <-w.asked:
			done = w.content()
			last = done
			w.reload()
		case <-ctx.Done():
			return
		}
	}
}

// maxContent bounds how much of a file is compared: more than a configuration file may have.
const maxContent = 1<<20 + 1

// content returns what the file has, or why it cannot be read.
func (w *Watcher) content() []byte {
	f, err := os.Open(w.file)
	if err != nil {
		return fmt.Append(nil, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxContent))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Append(nil, err)
	}
	return data
}
