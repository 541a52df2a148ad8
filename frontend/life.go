package frontend

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// lastLife is the highest number of a life of a journal whose attempts can be numbered.
const lastLife = math.MaxInt32 / uint64(sched.AttemptsPerLife)

// firstAttempt returns the first number that a life of a frontend's journal gives to
// attempts. A life is an opening of the journal, counted from 1, so no two lives share a
// number, whatever the earlier one failed to write (docs/adr/0017-attempt-identity.md).
func firstAttempt(frontend string, life uint64) (int32, error) {
	if life < 1 || life > lastLife {
		return 0, noMoreLives(frontend, life)
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
