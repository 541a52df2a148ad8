package application

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// PutFile appends a piece to a file that a registered application has announced.
func (s *Service) PutFile(_ context.Context, app, sha256 string, offset int64, data []byte) (have int64, err error) {
	s.mu.Lock()
	a := s.registry.apps[app]
	if a != nil {
		a.lastContact = time.Now()
	}
	s.mu.Unlock()
	if a == nil {
		return 0, &api.Error{Problem: api.NotFound, What: "it is not registered here", Subject: subject(app), Tried: "receiving a file of it", Next: "register it first"}
	}
	have, err = s.cfg.Files.Put(sha256, offset, data)
	if err == nil && s.cfg.Files.Has(sha256) {
		s.update(func(reg *registry, now time.Time) {
			a.filesReady = s.filesReady(&a.Application)
			reg.place(a, now)
		})
	}
	return have, err
}

// FilePiece returns a piece of a file to a node.
func (s *Service) FilePiece(_ context.Context, sha256 string, offset int64, limit int) (wire.Piece, error) {
	data, size, err := s.cfg.Files.Read(sha256, offset, limit)
	return wire.Piece{Data: data, Size: size}, err
}

// filesReady reports whether all files of an application have arrived.
func (s *Service) filesReady(a *api.Application) bool {
	for _, f := range a.Template.Files {
		if !s.cfg.Files.Has(f.SHA256) {
			return false
		}
	}
	return true
}

// trim removes files that no application needs.
func (s *Service) trim() {
	used := map[string]bool{}
	s.mu.Lock()
	for _, a := range s.registry.apps {
		for _, f := range a.Template.Files {
			used[f.SHA256] = true
		}
	}
	s.mu.Unlock()
	if err := s.cfg.Files.Trim(func(sha string) bool { return used[sha] }); err != nil {
		s.cfg.Logger.Warn("files of applications could not be removed; remove them by hand", "error", err)
	}
}
