package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/nodes"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// TestTop: what runs and waits by class and owner, once, as JSON, and until Ctrl-C.
func TestTop(t *testing.T) {
	runDev(t, "--policy", "pigeon", "--groups", "1", "--nodes", "2", "--slots", "2")
	succeed(t, "submit", "--key", "long", "--owner", "team/alice", "--class", "long", "--sleep", "1h", "--tasks", "5")
	await.Until(t, "all general slots are busy", func() bool { return statusOfJob(t, "long").Running == 4-reservedOf(t) })
	var page nodes.TopPage
	await.Until(t, "nodes have reported their slots", func() bool {
		page = lines[nodes.TopPage](t, succeed(t, "top", "--once", "-o", "json"))[0]
		return page.Busy == 4-reservedOf(t)
	})
	if page.Slots != 4 || page.RunningLong != page.Busy || page.QueuedLong != 5-page.Busy || page.OldestLong <= 0 || page.QueuedShort != 0 || page.LaunchRate != nil || len(page.Nodes) != 2 || len(page.Groups) != 1 || !page.ByOwner || page.JobsMissing ||
		len(page.Jobs) != 1 || page.Jobs[0].Job != "long" || page.Jobs[0].Running+page.Jobs[0].Queued != 5 {
		t.Errorf("%+v", page)
	}
	text := succeed(t, "top", "--once")
	for _, want := range []string{"1 group, 2 nodes, 2 of them up", fmt.Sprintf("%d of 4 busy", page.Busy), "team/alice", "node-0-000", "OLDEST WAIT", "\nJOB   NAME  OWNER       STATE    RUNNING  QUEUED\nlong  -     team/alice  running  "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &pictures{want: 2, seen: cancel}
	var errs bytes.Buffer
	if code := run(ctx, []string{"top", "--every", "100ms", "-o", "json"}, strings.NewReader(""), out, &errs); code != cli.ExitInterrupted || errs.Len() > 0 {
		t.Errorf("%d %s", code, errs.String())
	}
	if pages := lines[nodes.TopPage](t, out.String()); len(pages) != 2 || pages[1].LaunchRate == nil || *pages[1].LaunchRate != 0 {
		t.Errorf("%s", out.String())
	}
	succeed(t, "cancel", "long")
}
