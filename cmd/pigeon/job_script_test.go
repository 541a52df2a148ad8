package main

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

func TestVerbsOfOtherBatchSystems(t *testing.T) {
	for words, verb := range map[string]string{
		"squeue": "pigeon status", "sbatch job.sh": "pigeon submit", "sbatch --array=1-3 job.sh": "pigeon submit", "sinfo": "pigeon nodes", "scancel 7": "pigeon cancel", "qstat -a": "pigeon status", "help sacct": "pigeon history",
	} {
		if code, _, errs := pigeon(t, strings.Fields(words)...); code != cli.ExitUsage || !strings.Contains(errs, "'"+verb+"'") {
			t.Errorf("%s: %d, %s", words, code, errs)
		}
	}
	for word, verb := range verbsOfOthers() {
		cmd, _, err := newRoot(connect.Roles()).Find([]string{strings.Fields(strings.Trim(verb, "'"))[0]})
		if err != nil || cmd.Name() == "pigeon" {
			t.Errorf("%s is %q, which is no verb: %v", word, verb, err)
		}
	}
}
