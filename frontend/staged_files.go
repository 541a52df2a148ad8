package frontend

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/frontend/staging"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// stagedFolder is where the files that are sent with jobs are kept, below the folder of the journal.
const stagedFolder = "staged"

// openStaging opens the files that are sent with jobs. Beside a replicated journal there are none:
// a standby on another machine would have the jobs, and not their files.
func (f *Frontend) openStaging() (err error) {
	if f.cfg.replicated() {
		return nil
	}
	o := f.owner
	if o.staging, err = staging.New(staging.Config{Frontend: f.cfg.ID, Folder: filepath.Join(f.cfg.Data, stagedFolder), JobBytes: f.cfg.StageJobBytes, Bytes: f.cfg.StageBytes, Log: f.log}); err != nil {
		return err
	}
	daemon.WatchFiles(f.metrics.Metrics, daemon.StagedFiles, o.staging.Stats)
	f.service.staging, f.applications.staged = o.staging, o.staging
	f.life.OnClose(o.staging.Close)
	return nil
}

// StageFiles announces the files of a job, which belong to who sends them.
func (srv *schedulerService) StageFiles(ctx context.Context, files []api.StagedFile) ([]int64, error) {
	k, err := srv.stagingFor(files)
	if err != nil {
		return nil, err
	}
	p := identity.From(ctx)
	return k.Announce(p.Name, p.Role == identity.User, files)
}

// StagePiece receives a piece of a file that the caller has announced.
func (srv *schedulerService) StagePiece(ctx context.Context, sha256 string, offset int64, data []byte) (int64, error) {
	k, err := srv.stagingFor(nil)
	if err != nil {
		return 0, err
	}
	return k.Put(identity.From(ctx).Name, sha256, offset, data)
}

// stagingFor returns what keeps the files that are sent with jobs.
func (srv *schedulerService) stagingFor(files []api.StagedFile) (*staging.Keeper, error) {
	if srv.staging != nil {
		return srv.staging, nil
	}
	return nil, &api.Error{Problem: api.Invalid, What: "its journal is replicated, and staged files would be on this machine alone", Subject: fmt.Sprintf("%d staged files at frontend %s", len(files), srv.cfg.ID),
		Tried: "taking them for a job; nothing was accepted", Next: "put them on storage that the nodes share, have the task fetch them, or submit to a frontend whose journal is local"}
}

// holdFiles keeps the files of a job that is being submitted; nil for a job without.
func (srv *schedulerService) holdFiles(r *api.Request) (*staging.Hold, error) {
	if len(r.Stage) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	k, err := srv.stagingFor(r.Stage)
	if err != nil {
		return nil, err
	}
	return k.Hold(r.Submitter, r.Stage)
}

// FilePiece returns a piece of a file to a node: of one that was sent with a job, else of one of
// an application.
func (s *applications) FilePiece(ctx context.Context, sha256 string, offset int64, limit int) (wire.Piece, error) {
	if s.staged != nil {
		if data, size, here, err := s.staged.Piece(sha256, offset, limit); here {
			return wire.Piece{Data: data, Size: size}, err
		}
	}
	return s.Service.FilePiece(ctx, sha256, offset, limit)
}
