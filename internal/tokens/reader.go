package tokens

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Reader has the tokens of a file for a daemon, and reads them again when it changes. Make one
// with Open. Its methods may be called from anywhere.
type Reader struct {
	path    string
	log     *slog.Logger
	now     func() time.Time
	watcher *files.Watcher
	byID    atomic.Pointer[map[string]Token] // never changed once it is stored
	problem atomic.Pointer[string]           // why the file could not be read again; nil: it could
}

// Open reads the file. The error is an *api.Error; a daemon does not start without its tokens.
func Open(path string, log *slog.Logger) (*Reader, error) {
	return open(path, log, files.PollEvery, time.Now)
}

func open(path string, log *slog.Logger, every time.Duration, now func() time.Time) (*Reader, error) {
	r := &Reader{path: path, log: log, now: now}
	r.watcher = files.NewWatcher(path, every, r.again)
	if err := r.load(); err != nil {
		return nil, err
	}
	return r, nil
}

// Run reads the file again whenever it changes, until ctx is done.
func (r *Reader) Run(ctx context.Context) { r.watcher.Run(ctx) }

// Reload requests that the file be read again.
func (r *Reader) Reload() { r.watcher.Reload() }

func (r *Reader) load() error {
	list, err := Load(r.path)
	if err != nil {
		return err
	}
	byID := make(map[string]Token, len(list))
	for _, t := range list {
		byID[t.ID] = t
	}
	r.byID.Store(&byID)
	return nil
}

// again is called by the watcher.
func (r *Reader) again() {
	err := r.load()
	if err == nil {
		r.problem.Store(nil)
		return
	}
	text := err.Error()
	r.problem.Store(&text)
	r.log.Warn("the tokens could not be read again, those before stay in effect", "error", err)
}

// Problem returns why the file could not be read again the last time; "" when it could.
func (r *Reader) Problem() string {
	if p := r.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// Principal returns the principal that a token proves. The error is an *api.Error with
// api.Denied, which does not contain the token.
func (r *Reader) Principal(text string) (identity.Principal, error) {
	id, is := idOf(text)
	if !is {
		return identity.Principal{}, denied("token", "it has not the form of an access token", "the first line of the token file must be a token as 'pigeon token create' prints it")
	}
	t, known := (*r.byID.Load())[id]
	if !known || !t.matches(text) {
		return identity.Principal{}, denied("token "+id, "it is not known here", "ask an administrator of this cluster for a token ('pigeon token create'), or name another file with --token-file")
	}
	if err := r.usable(&t); err != nil {
		return identity.Principal{}, err
	}
	return t.principal(), nil
}

// Check returns why the token with that id, which was good when its call or connection began,
// is not valid any more; nil while it is.
func (r *Reader) Check(id string) error {
	t, known := (*r.byID.Load())[id]
	if !known {
		return denied("token "+id, "it is not known here any more", "ask an administrator of this cluster for another one ('pigeon token create')")
	}
	return r.usable(&t)
}

// Revoked reports whether the token with that id is invalid for a reason other than its
// time.
func (r *Reader) Revoked(id string) bool {
	t, known := (*r.byID.Load())[id]
	return !known || t.Revoked != 0
}

func (r *Reader) usable(t *Token) error {
	const next = "ask an administrator of this cluster for another one: pigeon token create --user %s --role %s"
	switch t.State(r.now()) {
	case "revoked":
		return denied("token "+t.ID+" of "+t.User, "it was revoked on "+time.Unix(t.Revoked, 0).UTC().Format(time.RFC3339), fmt.Sprintf(next, t.User, t.Role))
	case "expired":
		return denied("token "+t.ID+" of "+t.User, "it expired on "+time.Unix(t.Expires, 0).UTC().Format(time.RFC3339), fmt.Sprintf(next, t.User, t.Role))
	}
	return nil
}

func denied(subject, what, next string) error {
	return &api.Error{Problem: api.Denied, Subject: subject, What: what, Tried: "proving who calls", Next: next}
}
