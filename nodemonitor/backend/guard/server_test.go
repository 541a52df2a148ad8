package guard

import (
	"testing"
	"time"
)

// Without a backlog every end is sent before the next process is started; with one, events wait,
// but not for long.
func TestTurn(t *testing.T) {
	for _, tc := range []struct {
		waiting int
		ago     time.Duration
		starts  int
		send    bool
	}{
		{0, 0, 0, true},
		{1, 0, 1, true},
		{backlog, 0, 1, true},
		{backlog + 1, 0, startsAtOnce, false},
		{backlog + 1, sendsEvery - 1, startsAtOnce, false},
		{backlog + 1, sendsEvery, startsAtOnce, true},
		{100 * backlog, time.Hour, startsAtOnce, true},
	} {
		if starts, send := turn(tc.waiting, tc.ago); starts != tc.starts || send != tc.send {
			t.Errorf("%d wait, sent %v ago: %d are started, events sent: %v; want %d, %v", tc.waiting, tc.ago, starts, send, tc.starts, tc.send)
		}
	}
}
