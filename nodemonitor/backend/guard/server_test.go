package guard

import (
	"testing"
	"time"
)

// Without a backlog events are sent at once; with one they wait, but not for long.
func TestSendsNow(t *testing.T) {
	for _, tc := range []struct {
		waiting int
		ago     time.Duration
		want    bool
	}{
		{0, 0, true},
		{backlog, 0, true},
		{backlog + 1, 0, false},
		{100 * backlog, sendsEvery - 1, false},
		{100 * backlog, sendsEvery, true},
	} {
		if got := sendsNow(tc.waiting, tc.ago); got != tc.want {
			t.Errorf("%d wait, sent %v ago: %v, want %v", tc.waiting, tc.ago, got, tc.want)
		}
	}
}
