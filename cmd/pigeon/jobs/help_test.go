package jobs

import (
	"strings"
	"testing"
)

func TestMergeKeysAreRefused(t *testing.T) {
	for _, text := range []string{"command: [a]\n<<: {name: x}\n", "command: [a]\nenv:\n  A: 1\n  <<: {B: 2}\n"} {
		if _, _, err := asked(t, text, "--file", "-"); err == nil || !strings.Contains(err.Error(), "merge keys (<<) are not read") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Missing output is explained by what has happened, and the limit is named only where it was met.
func TestWhyOutputIsMissing(t *testing.T) {
	full := incomplete("j", 5, "the disk of its node is nearly full").Error()
	if !strings.Contains(full, "nearly full") || strings.Contains(full, "output_limit") {
		t.Error(full)
	}
	if met := incomplete("j", 5, "its node keeps the first 9 bytes (output_limit) and the last 8").Error(); !strings.Contains(met, "raise output_limit") {
		t.Error(met)
	}
}
