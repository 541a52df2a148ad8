package usage

import (
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// fault is for a folder that cannot be read or written.
func (k *Keeper) fault(tried string, err error, next string) error {
	return &api.Error{Problem: api.Internal, What: err.Error(), Subject: "folder " + k.opts.Path, Tried: tried, Next: next}
}

// noSuchKey is for sums by something that the history does not have.
func noSuchKey(key string) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("a history is not summed up by %q", key), Subject: "the history of jobs", Tried: "summing it up", Next: "use " + strings.Join(api.HistoryKeys(), ", ")}
}

// notWritten is for a query that did not wait long enough.
func notWritten(frontend string) error {
	return &api.Error{Problem: api.NotReady, What: "the jobs that ended last are not written yet", Subject: "frontend " + frontend, Tried: "asking for the history of jobs", Next: "try again"}
}

// tooManyLines is for sums with too many lines.
func tooManyLines(by []string) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("it has more than %d lines", api.HistorySums), Subject: "the history by " + strings.Join(by, ", "), Tried: "summing it up", Next: "select less with --since, --owner, --class or --state, or sum up by less"}
}
