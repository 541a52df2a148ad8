package frontend

import (
	"fmt"
	"math"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// lastLife is the highest number of a life of a journal whose attempts can be numbered.
const lastLife = math.MaxInt32 / uint64(sched.AttemptsPerLife)

// firstAttempt returns the first number that a life of a frontend's journal gives to
// attempts. A life is an opening of the journal, counted from 1, so no two lives share a
// number, whatever the earlier one failed to write (docs/adr/0017-attempt-identity.md).
func firstAttempt(frontend string, life uint64) (int32, error) {
	if life < 1 || life > lastLife {
		return 0, &api.Error{Problem: api.Internal, Subject: fmt.Sprintf("journal of frontend %q", frontend),
			What:  fmt.Sprintf("it would be opened for the %d. time, and attempts can be numbered for %d openings", life, lastLife),
			Tried: "opening it; nothing was changed", Next: "let another frontend take the submissions, and start this one under a new name with an empty folder when nothing of it is unfinished"}
	}
	return int32(life-1)*sched.AttemptsPerLife + 1, nil //nolint:gosec // at most math.MaxInt32
}

// journaledAttempt returns the number of a job's first attempts as submissions have it.
func journaledAttempt(first int32) int32 {
	if first == 1 {
		return 0
	}
	return first
}
