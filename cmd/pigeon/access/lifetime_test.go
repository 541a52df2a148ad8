package access

import (
	"testing"
	"time"
)

func TestLifetimes(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "0": 0, "0d": 0} {
		var l lifetime
		if err := l.Set(text); err != nil || time.Duration(l) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(l), err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1d-1h", "1dd", "5", "x", "999999999999d", "1d 2h"} {
		var l lifetime
		if err := l.Set(text); err == nil {
			t.Errorf("%q: %v", text, time.Duration(l))
		}
	}
	if got := ptr(36*time.Hour).String() + " " + ptr(48*time.Hour).String(); got != "36h0m0s 2d" {
		t.Error(got)
	}
}

func ptr(d time.Duration) *lifetime { l := lifetime(d); return &l }
