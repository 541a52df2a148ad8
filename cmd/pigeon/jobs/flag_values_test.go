package jobs

import (
	"strings"
	"testing"
)

// A duration in a script's lines or a job file is explained likewise.
func TestRefusedValuesOfJobs(t *testing.T) {
	if _, _, err := asked(t, "sleep: 9999999h\n", "--file", "-"); err == nil || !strings.Contains(err.Error(), `line 1: sleep "9999999h": it is too large; use 2562047h or less`) {
		t.Errorf("a job file: %v", err)
	}
	script := write(t, "job.sh", "#!/bin/sh\n#PIGEON --estimate 9999999h\n")
	if _, _, err := asked(t, "", script); err == nil || !strings.Contains(err.Error(), "line 2: ") || !strings.Contains(err.Error(), "it is too large") {
		t.Errorf("a script: %v", err)
	}
}
