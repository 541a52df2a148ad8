package chaos

import (
	"strings"
	"testing"
	"time"
)

// The command that repeats a run injects as many faults as the run was to.
func TestCommandHasTheNumberOfFaults(t *testing.T) {
	o := &Options{Seed: 7, Lasts: time.Minute, Rate: 1, Jobs: 2, Faults: 31}
	if got := o.command([]string{"kill"}); !strings.Contains(got, " --faults 31 ") {
		t.Errorf("it is %q", got)
	}
	o.Faults = 0
	if got := o.command([]string{"kill"}); strings.Contains(got, "--faults") {
		t.Errorf("without a limit it is %q", got)
	}
}
