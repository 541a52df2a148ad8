package main

import (
	"strings"
	"testing"
)

// Verbs that take a job or a node say so in one form when none is named, or a script's variable for
// it is not set.
func TestArgsNameJobsAndNodes(t *testing.T) {
	for args, want := range map[string]string{
		"cancel": "name a job: pigeon cancel JOB|APPLICATION...", "logs": "name a job: pigeon logs JOB", "explain": "name a job: pigeon explain JOB", "files": "name a job: pigeon files JOB [PATTERN]...",
		"node drain": "name a node: pigeon node drain NODE...", "node resume": "name a node: pigeon node resume NODE...", "node forget": "name a node: pigeon node forget NODE...",
		"cancel a EMPTY": "the name of a job is empty; name a job: pigeon cancel", "files EMPTY *": "the name of a job is empty; name a job: pigeon files", "logs EMPTY": "the name of a job is empty",
		"logs a b": "name one job only, not 2 (a, b): pigeon logs JOB", "explain a b c": "name one job only, not 3 (a, b, c): pigeon explain JOB",
	} {
		list := strings.Fields(args)
		for i := range list {
			list[i] = strings.TrimPrefix(list[i], "EMPTY")
		}
		if code, out, errs := pigeon(t, list...); code != exitUsage || out != "" || !strings.HasPrefix(errs, "pigeon: "+want) {
			t.Errorf("pigeon %s: status %d, %s%s, want %q", args, code, out, errs, want)
		}
	}
}
