package nodemonitor

import (
	"context"
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// attemptLogs serves the outputs of exec attempts to other daemons.
type attemptLogs struct{ store *logs.Store }

var _ wire.LogReader = attemptLogs{}

// AttemptLog reads a piece of what an exec attempt wrote here.
func (l attemptLogs) AttemptLog(_ context.Context, r wire.AttemptLogRequest) (wire.LogChunk, error) {
	id := r.Attempt
	if id.Attempt == 0 {
		id.Attempt = l.store.Latest(id.Job, id.Task)
	}
	c, err := l.read(id, &r)
	return wire.LogChunk{Data: c.Data, Size: c.Size, Ended: c.Ended, Missing: c.Missing, Why: c.Why, Attempt: int(id.Attempt)}, err
}

// read reads an output, the list of the files that the attempt left, or one of these files.
func (l attemptLogs) read(id sched.AttemptID, r *wire.AttemptLogRequest) (logs.Chunk, error) {
	if r.Stream == wire.FileList {
		return l.store.List(id, r.Offset, r.Limit)
	}
	if name, ok := strings.CutPrefix(r.Stream, wire.FilePrefix); ok {
		return l.store.ReadFile(id, name, r.Offset, r.Limit)
	}
	stream, err := streamOf(id, r.Stream)
	if err != nil {
		return logs.Chunk{}, err
	}
	return l.store.Read(id, stream, r.Offset, r.Limit)
}

func streamOf(id sched.AttemptID, name string) (logs.Stream, error) {
	switch name {
	case "stdout":
		return logs.Stdout, nil
	case "stderr":
		return logs.Stderr, nil
	}
	return 0, &api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("there is no output %q", name), Subject: "attempt " + id.String(),
		Tried: "reading its log", Next: `use "stdout", "stderr", "files" or "file:" and the path of one`,
	}
}
