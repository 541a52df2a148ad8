package connect

import (
	"testing"
	"time"
)

// TestAgo: how long ago something was is a duration or whole days, however many.
func TestAgo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"90m": 90 * time.Minute, "7d": 168 * time.Hour, "-1d": -24 * time.Hour, "999999999d": mostDays * 24 * time.Hour} {
		if got, err := ParseAgo(text); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1.5d", "7days", "soon"} {
		if got, err := ParseAgo(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
