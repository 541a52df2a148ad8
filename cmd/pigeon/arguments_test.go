package main

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// Verbs say in one form what they take when that is not named, or a script's variable for it is not
// set, and what is too much.
func TestArgumentsAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"cancel": "name a job: pigeon cancel JOB|APPLICATION...", "logs": "name a job: pigeon logs JOB", "explain": "name a job: pigeon explain JOB", "files": "name a job: pigeon files JOB [PATTERN]...",
		"node drain": "name a node: pigeon nodes drain NODE...", "node resume": "name a node: pigeon nodes resume NODE...", "node forget": "name a node: pigeon nodes forget NODE...",
		"cancel a EMPTY": "the name of a job is empty; name a job: pigeon cancel", "files EMPTY *": "the name of a job is empty; name a job: pigeon files", "logs EMPTY": "the name of a job is empty",
		"config check lorry": "name a file: pigeon config check lorry FILE...", "cluster plan": "name a host inventory: pigeon cluster plan INVENTORY", "token revoke": "name a token: pigeon token revoke ID...",
		"spark setup":  "name a folder: pigeon spark setup DIR",
		"nodes node-0": `"node-0" is not a verb of "pigeon nodes"`, "dev x": `pigeon dev takes flags only, and "x" is none`, "config roles x": `pigeon config roles takes flags only, and "x" is none`,
		"help statsu": `"statsu" is not a verb of "pigeon"; the nearest is "status"`, "help node drian": `"drian" is not a verb of "pigeon nodes"; the nearest is "drain"`, "nodes drian x": `"drian" is not a verb of "pigeon nodes"; the nearest is "drain"`,
		"logs a b": "name one job only, not 2 (a, b): pigeon logs JOB", "explain a b c": "name one job only, not 3 (a, b, c): pigeon explain JOB",
	} {
		list := strings.Fields(args)
		for i := range list {
			list[i] = strings.TrimPrefix(list[i], "EMPTY")
		}
		if code, out, errs := pigeon(t, list...); code != cli.ExitUsage || out != "" || !strings.HasPrefix(errs, "pigeon: "+want) {
			t.Errorf("pigeon %s: status %d, %s%s, want %q", args, code, out, errs, want)
		}
	}
}
