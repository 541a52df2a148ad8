package staging

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const (
	patience    = 30 * time.Second // how long a file that cannot be fetched now is requested again
	callTimeout = 10 * time.Second // of one piece
)

// Config is what a Store needs.
type Config struct {
	Folder   string
	Bytes    int64 // of all files
	Dial     func(address string) (wire.FileKeeper, error)
	Patience time.Duration // how long a frontend is asked again; 0 for 30 s
}

// Store keeps files by their hashes, those that were used lately. The methods may be called from
// any goroutine.
type Store struct {
	cfg   Config
	store *filestore.Store
	put   func(context.Context, *Place, []api.StagedFile) error // copies files that are here into a place

	mu    sync.Mutex
	uses  map[string]int           // of the files that attempts are being given, by SHA-256
	turns map[string]chan struct{} // likewise; who has the token fetches
}

// Open opens the folder with what an earlier process has left in it.
func Open(cfg Config) (*Store, error) {
	if cfg.Patience == 0 {
		cfg.Patience = patience
	}
	store, err := filestore.OpenFor(filestore.Texts{
		One: "staged file", Many: "staged files", Room: "wait for tasks that need others to start, or raise the node's stage_cache",
		Announce: "report this: it is announced before", Again: "submit the job again, with its files",
	}, cfg.Folder, cfg.Bytes)
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, store: store, uses: map[string]int{}, turns: map[string]chan struct{}{}}
	s.put = func(ctx context.Context, p *Place, list []api.StagedFile) error { return p.put(ctx, list, store.Path) }
	return s, nil
}

// Stats returns which files were not used as they were found.
func (s *Store) Stats() filestore.Stats { return s.store.Stats() }

// Fault is why an attempt cannot be given its files. One that passes is the node's or the
// frontend's, and may be over elsewhere or later.
type Fault struct {
	What, Next string
	Passes     bool
}

// Bring fetches the files of an attempt from the frontend at the address, and puts copies into a
// folder, which is made, for a user of this machine; nil for the user of this process. It returns
// when they are there, or ctx has ended.
func (s *Store) Bring(ctx context.Context, frontend string, list []api.StagedFile, p *Place) *Fault {
	if n := api.StagedContent(list); n > s.cfg.Bytes {
		return &Fault{What: fmt.Sprintf("its staged files have %d bytes, and this node keeps %d at most (stage_cache)", n, s.cfg.Bytes), Next: "raise stage_cache of the node, or put the files on storage that the nodes share"}
	}
	defer s.use(list)()
	for i := range list {
		if f := s.fetch(ctx, frontend, &list[i]); f != nil {
			return f
		}
	}
	return s.place(ctx, list, p)
}

// place puts files that are here into a folder, and tries again while the node is short of something.
func (s *Store) place(ctx context.Context, list []api.StagedFile, p *Place) *Fault {
	began := time.Now()
	for tries := 1; ; tries++ {
		err := s.put(ctx, p, list)
		short := isShort(err)
		if short { // for others
			err = errors.Join(err, files.RemoveAll(filepath.Dir(p.Folder), filepath.Base(p.Folder)))
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ended(ctx)
		case !short || time.Since(began) >= s.cfg.Patience:
			f := &Fault{
				What: fmt.Sprintf("its staged files could not be put into its working folder, tried %d times: %v", tries, err),
				Next: "free disk space on the node, or give it another work_dir", Passes: short,
			}
			if guard.IsShortage(err) {
				f.Next = guard.FaultOf("", err).Next
			}
			return f
		}
		if !delay.For(ctx, connections.PauseAfter(tries)) {
			return ended(ctx)
		}
	}
}

// isFull reports whether the error is that a disk has no room, which it may have later.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// isShort reports whether the error is that a disk has no room, or the node no memory or open file left.
func isShort(err error) bool { return isFull(err) || guard.IsShortage(err) }

// use keeps files until the function is called.
func (s *Store) use(list []api.StagedFile) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list {
		sha := list[i].SHA256
		if s.uses[sha]++; s.uses[sha] == 1 {
			s.turns[sha] = make(chan struct{}, 1)
		}
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i := range list {
			sha := list[i].SHA256
			if s.uses[sha]--; s.uses[sha] == 0 {
				delete(s.uses, sha)
				delete(s.turns, sha)
			}
		}
	}
}

// fetch fetches a file that is in use, unless it is here, and asks again while that may help.
func (s *Store) fetch(ctx context.Context, frontend string, f *api.StagedFile) *Fault {
	s.mu.Lock()
	turn := s.turns[f.SHA256]
	s.mu.Unlock()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return ended(ctx)
	}
	began := time.Now()
	for tries := 1; ; tries++ {
		err := s.try(ctx, frontend, f)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ended(ctx)
		case !passes(err) || time.Since(began) >= s.cfg.Patience:
			return &Fault{
				What: fmt.Sprintf("its staged file %q could not be fetched from its frontend at %s, which was tried %d times in %v: %v", f.Name, frontend, tries, time.Since(began).Round(time.Millisecond), err),
				Next: "see that the node reaches the frontend's internal_listen, or submit the job again, with its files", Passes: passes(err),
			}
		}
		if !delay.For(ctx, connections.PauseAfter(tries)) {
			return ended(ctx)
		}
	}
}

// ended is the fault of an attempt that was ended while it waited; nobody reads it.
func ended(ctx context.Context) *Fault {
	return &Fault{What: context.Cause(ctx).Error(), Passes: true}
}

// try fetches a file once, if need be in place of others that were used longer ago.
func (s *Store) try(ctx context.Context, frontend string, f *api.StagedFile) error {
	dial := func() (wire.FileKeeper, error) {
		from, err := s.cfg.Dial(frontend)
		return timed{from}, err
	}
	err := Fetch(ctx, s.store, f.File(), dial)
	if e, ok := errors.AsType[*api.Error](err); isFull(err) || ok && e.Problem == api.Busy {
		if err := s.trim(); err != nil {
			return err
		}
		err = Fetch(ctx, s.store, f.File(), dial)
	}
	return err
}

// trim removes files that no attempt is being given.
func (s *Store) trim() error {
	return s.store.Trim(func(sha string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.uses[sha] > 0
	})
}

// passes reports whether an error may be over later: nobody answered, or there is no room now.
func passes(err error) bool {
	if _, unanswered := errors.AsType[*client.CallError](err); unanswered {
		return true
	}
	e, ok := errors.AsType[*api.Error](err)
	return isShort(err) || ok && (e.Problem == api.Busy || e.Problem == api.NotReady)
}

// timed bounds the time of each piece.
type timed struct{ wire.FileKeeper }

// FilePiece implements wire.FileKeeper.
func (t timed) FilePiece(ctx context.Context, sha256 string, offset int64, limit int) (wire.Piece, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return t.FileKeeper.FilePiece(ctx, sha256, offset, limit)
}
