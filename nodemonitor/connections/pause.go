package connections

import (
	"math/rand/v2"
	"time"
)

// Pauses after calls without an answer.
const (
	pauseFirst = 20 * time.Millisecond
	pauseMost  = 2 * time.Second
)

// PauseAfter returns how long to wait before the next call after that many failures in a
// row. It doubles with each, less up to half of it by chance, so that nodes that lost the
// same peer do not call it again at the same time.
func PauseAfter(failures int) time.Duration {
	d := min(pauseFirst<<min(failures-1, 10), pauseMost)
	return d - rand.N(d/2+1) //nolint:gosec // no secret
}
