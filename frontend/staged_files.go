package frontend

import (
	"context"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/staging"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// stagedFolder is where the files that are sent with jobs are kept, below the folder of the journal.
const stagedFolder = "staged"

// openStaging opens the files that are sent with jobs. Beside a replicated journal they are in an
// object store of its servers, too: a standby on another machine has the jobs, and needs their files.
func (f *Frontend) openStaging() (err error) {
	o := f.owner
	c := staging.Config{Frontend: f.cfg.ID, Folder: filepath.Join(f.cfg.Data, stagedFolder), JobBytes: f.cfg.StageJobBytes, Bytes: f.cfg.StageBytes, Log: f.log}
	if f.standby != nil {
		c.Replica = staging.NewObjects(f.standby.servers, f.cfg.Cluster, f.cfg.ID)
	}
	if o.staging, err = staging.New(c); err != nil {
		return err
	}
	daemon.WatchFiles(f.metrics.Metrics, daemon.StagedFiles, o.staging.Stats)
	f.service.staging, f.applications.staged = o.staging, o.staging
	f.life.OnClose(o.staging.Close)
	return nil
}

// stagedFiles observes the ends of jobs, whose staged files are not needed any more.
type stagedFiles struct{ owner *owner }

// Observe forgets them.
func (s stagedFiles) Observe(c jobs.Change) {
	if c.Kind == jobs.Ended {
		s.owner.staging.Ended(c.Job.ID)
	}
}

// StageFiles announces the files of a job, which belong to who sends them.
func (srv *schedulerService) StageFiles(ctx context.Context, files []api.StagedFile) ([]int64, error) {
	p := identity.From(ctx)
	return srv.staging.Announce(p.Name, p.Role == identity.User, files)
}

// StagePiece receives a piece of a file that the caller has announced.
func (srv *schedulerService) StagePiece(ctx context.Context, sha256 string, offset int64, data []byte) (int64, error) {
	return srv.staging.Put(identity.From(ctx).Name, sha256, offset, data)
}

// FilePiece returns a piece of a file to a node: of one that was sent with a job, else of one of
// an application.
func (s *applications) FilePiece(ctx context.Context, sha256 string, offset int64, limit int) (wire.Piece, error) {
	if data, size, here, err := s.staged.Piece(sha256, offset, limit); here {
		return wire.Piece{Data: data, Size: size}, err
	}
	return s.Service.FilePiece(ctx, sha256, offset, limit)
}
