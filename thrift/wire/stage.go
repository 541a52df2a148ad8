package wire

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/api"
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
