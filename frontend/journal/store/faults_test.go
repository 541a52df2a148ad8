package store

import (
	"strings"
	"testing"
	"time"
)

func TestParseFaults(t *testing.T) {
	got, err := ParseFaults("slow=50ms,write-error-after=3,fsync-error-after=4,enospc-after=5")
	if want := (Faults{50 * time.Millisecond, 3, 4, 5}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ParseFaults(""); err != nil || got != (Faults{}) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"fast=1": `"fast" is no fault of a disk; use enospc-after,`, "slow": "slow", "write-error-after=0": "1 or more", "slow=1ms,": `"" is no fault`,
	} {
		if _, err := ParseFaults(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
