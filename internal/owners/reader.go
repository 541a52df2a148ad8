package owners

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// Reader reads the settings S of a daemon ([Shares] or [Quotas]), and reads them again while
// the daemon runs: from the file of owners if the daemon's configuration names one, else from
// the daemon's own configuration file.
type Reader[S any] struct {
	// File is the file of owners, "" for none, and Of returns what the daemon needs of it.
	File string
	Of   func(File) S
	// Again is called, from a goroutine of the reader, with the settings as they were read
	// again, or why they could not be.
	Again func(S, error)

	watcher *files.Watcher // nil: there is no file to read again
}

// Open returns the first settings: those of the file of owners, or own without one.
func (r *Reader[S]) Open(own S) (S, error) {
	if r.File == "" {
		return own, nil
	}
	r.watchFile(r.File, r.load)
	return r.load()
}

func (r *Reader[S]) load() (S, error) {
	f, err := Load(r.File)
	return r.Of(f), err
}

// ReadAgainFrom names the daemon's own configuration file, "" for none, and how to load it. It
// is called before Run and does nothing when there is a file of owners.
func (r *Reader[S]) ReadAgainFrom(file string, load func() (S, error)) {
	if r.File == "" && file != "" {
		r.watchFile(file, load)
	}
}

func (r *Reader[S]) watchFile(file string, load func() (S, error)) {
	r.watcher = files.NewWatcher(file, files.PollEvery, func() { r.Again(load()) })
}

// Reload requests that the settings be read again. It reports whether there is a file to
// read them from. It may be called from anywhere.
func (r *Reader[S]) Reload() bool {
	if r.watcher == nil {
		return false
	}
	r.watcher.Reload()
	return true
}

// Run reads the settings again whenever the file changes and after Reload, until ctx is done.
func (r *Reader[S]) Run(ctx context.Context) {
	if r.watcher != nil {
		r.watcher.Run(ctx)
	}
}
