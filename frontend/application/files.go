package application

import (
	"context"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// receive makes room for the files of an application that registers, as far as they are not
// here. An application that is known has that already, or is refused.
func (s *Service) receive(a *api.Application) (map[string]*filestore.Incoming, error) {
	s.mu.Lock()
	known := s.registry.apps[a.ID] != nil
	s.mu.Unlock()
	incoming := map[string]*filestore.Incoming{}
	if known {
		return incoming, nil
	}
	for _, f := range a.Template.Files {
		if incoming[f.SHA256] != nil {
			continue // it is listed under two names
		}
		in, err := s.receiveFile(f)
		if err != nil {
			s.drop(incoming)
			return nil, err
		}
		if in != nil {
			incoming[f.SHA256] = in
		}
	}
	return incoming, nil
}

// receiveFile returns what receives a file from one application, so that others that send it,
// or something else as that file, do not disturb it; nil when the file is here.
func (s *Service) receiveFile(f api.File) (*filestore.Incoming, error) {
	if _, size, err := s.cfg.Files.Read(f.SHA256, 0, 0); err == nil {
		if size != f.Size {
			return nil, otherSize(f, size)
		}
		return nil, nil //nolint:nilnil // there is nothing to receive
	}
	in, err := s.cfg.Files.Receive(f)
	if err == nil && f.Size == 0 {
		if _, err = in.Put(0, nil); err != nil {
			s.drop(map[string]*filestore.Incoming{f.SHA256: in})
		}
	}
	return in, err
}

// drop gives up files that have not arrived.
func (s *Service) drop(incoming map[string]*filestore.Incoming) {
	for _, in := range incoming { // they do not depend on each other
		s.removed(in.Drop())
	}
}

// removed reports that files could not be removed.
func (s *Service) removed(err error) {
	if err != nil {
		s.cfg.Logger.Warn("files of applications could not be removed; remove them by hand", "error", err)
	}
}

// PutFile appends a piece to a file that a registered application has announced.
func (s *Service) PutFile(_ context.Context, app, sha256 string, offset int64, data []byte) (have int64, err error) {
	a, f, in, err := s.announced(app, sha256)
	if err != nil {
		return 0, err
	}
	if in == nil || in.Arrived() { // it was here when the application registered, or has arrived, and may be gone
		if in, err = s.receiveAgain(a, f, in); err != nil {
			return 0, err
		}
	}
	have = f.Size
	if in != nil {
		have, err = in.Put(offset, data)
	}
	switch {
	case err == nil && have < 0: // it was dropped
		return 0, notRegistered(app)
	case err == nil && have == f.Size:
		s.arrived(a)
	}
	return have, err
}

// announced returns an application, a file that it has announced, and what receives that, if
// something does.
func (s *Service) announced(app, sha256 string) (*application, api.File, *filestore.Incoming, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.registry.apps[app]
	if a == nil || a.ended != "" {
		return nil, api.File{}, nil, notRegistered(app)
	}
	a.lastContact = time.Now()
	i := slices.IndexFunc(a.Template.Files, func(f api.File) bool { return f.SHA256 == sha256 })
	if i < 0 {
		return nil, api.File{}, nil, notAnnounced(app, sha256)
	}
	return a, a.Template.Files[i], a.incoming[sha256], nil
}

// receiveAgain returns what receives a file in the place of before, which does not any more; nil
// when the file is here.
func (s *Service) receiveAgain(a *application, f api.File, before *filestore.Incoming) (*filestore.Incoming, error) {
	in, err := s.receiveFile(f)
	if in == nil || err != nil {
		return nil, err
	}
	s.mu.Lock()
	now, served := a.incoming[f.SHA256], s.registry.apps[a.ID] == a
	if served && now == before {
		a.incoming[f.SHA256], now = in, in
	}
	s.mu.Unlock()
	if now != in {
		s.drop(map[string]*filestore.Incoming{f.SHA256: in})
	}
	if !served {
		return nil, notRegistered(a.ID)
	}
	return now, nil
}

// arrived starts the executors of an application when all its files have arrived.
func (s *Service) arrived(a *application) {
	if !s.filesReady(&a.Application) {
		return // the call with the last one finds all of them
	}
	s.update(func(reg *registry, now time.Time) {
		a.filesReady = true
		a.arrivals++
		reg.place(a, now)
	})
}

// FilePiece returns a piece of a file to a node.
func (s *Service) FilePiece(_ context.Context, sha256 string, offset int64, limit int) (wire.Piece, error) {
	data, size, err := s.cfg.Files.Read(sha256, offset, limit)
	return wire.Piece{Data: data, Size: size}, err
}

// filesReady reports whether all files of an application have arrived. It may read them, and
// wait for others that are written: never call it with the lock, for which the owner goroutine
// of the frontend waits.
func (s *Service) filesReady(a *api.Application) bool {
	for _, f := range a.Template.Files {
		if !s.cfg.Files.Has(f.SHA256) {
			return false
		}
	}
	return true
}

// tidy gives up the files that applications have not sent before they were removed, and removes
// files that no application needs any more.
func (s *Service) tidy(removed []*application) {
	for _, a := range removed {
		s.drop(a.incoming)
	}
	used := map[string]bool{}
	s.mu.Lock()
	for _, a := range s.registry.apps {
		for _, f := range a.Template.Files {
			used[f.SHA256] = true
		}
	}
	s.mu.Unlock()
	s.removed(s.cfg.Files.Trim(func(sha string) bool { return used[sha] }))
}
