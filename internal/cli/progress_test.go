package cli

import (
	"bytes"
	"testing"
	"time"
)

// Without a terminal a long run writes a line from time to time, a short one none.
func TestProgressWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out)
	now := time.Unix(0, 0)
	p.now, p.last = func() time.Time { return now }, now
	for second := range 95 {
		now = time.Unix(int64(second), 0)
		p.Linef("%d of %d", second, 95)
	}
	p.Clear()
	if got, want := out.String(), "30 of 95\n60 of 95\n90 of 95\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
