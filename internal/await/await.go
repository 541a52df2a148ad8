// Package await waits in tests for conditions that give no signal: the end of a
// process, a file, a state behind a socket. Where there is a channel or a fake clock
// (testing/synctest), tests wait on that.
package await

import (
	"strings"
	"testing"
	"time"
)

// Limit ends a wait for a condition that never holds. It is for hangs, and long
// enough for a loaded machine.
const Limit = 2 * time.Minute

const interval = 2 * time.Millisecond

// Until polls until the condition holds, and fails the test when it does not hold
// within Limit. The message begins with what, "not in time: the process has ended",
// and continues with what the functions in show return then.
func Until(t testing.TB, what string, holds func() bool, show ...func() string) {
	t.Helper()
	until(t, Limit, what, holds, show...)
}

func until(t testing.TB, limit time.Duration, what string, holds func() bool, show ...func() string) {
	t.Helper()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			words := []string{"not in time: " + what}
			for _, s := range show {
				words = append(words, s())
			}
			t.Fatal(strings.Join(words, "; "))
		}
	}
}
