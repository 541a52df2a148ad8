package wire

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// StagedFiles is the port that takes the contents of files which are sent with jobs.
type StagedFiles interface {
	// StageFiles announces files, all those of a job, and returns how many bytes of each have
	// arrived from the caller.
	StageFiles(ctx context.Context, files []api.StagedFile) (have []int64, err error)
	// StagePiece appends a piece to a file that the caller has announced, and returns how many
	// bytes of it have arrived.
	StagePiece(ctx context.Context, sha256 string, offset int64, data []byte) (have int64, err error)
}

// StageFiles implements published.SchedulerService.
func (h schedulerHandler) StageFiles(ctx context.Context, files []*published.TStagedFile) ([]int64, error) {
	have, err := h.Scheduler.StageFiles(ctx, mapped(files, stagedFileFrom))
	return have, refusal(err)
}

// StagePiece implements published.SchedulerService.
func (h schedulerHandler) StagePiece(ctx context.Context, sha256 string, offset int64, data []byte) (int64, error) {
	have, err := h.Scheduler.StagePiece(ctx, sha256, offset, data)
	return have, refusal(err)
}

// StageFiles announces files that are to be sent with a job.
func (s *SchedulerClient) StageFiles(ctx context.Context, files []api.StagedFile) ([]int64, error) {
	return invoke(ctx, s.caller, "announcing the staged files of a job", func(ctx context.Context, c thrift.TClient) ([]int64, error) {
		return published.NewSchedulerServiceClient(c).StageFiles(ctx, mapped(files, stagedFileTo))
	})
}

// StagePiece sends a piece of a staged file.
func (s *SchedulerClient) StagePiece(ctx context.Context, sha256 string, offset int64, data []byte) (int64, error) {
	return invoke(ctx, s.caller, "sending a staged file", func(ctx context.Context, c thrift.TClient) (int64, error) {
		return published.NewSchedulerServiceClient(c).StagePiece(ctx, sha256, offset, data)
	})
}
