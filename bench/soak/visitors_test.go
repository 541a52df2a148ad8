package soak

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// TestVisitorsThatEndOtherwise: a visitor that ended by itself, or does not end when it is asked
// to, ends the run with its name and its log; it is not counted as one that stopped in order.
func TestVisitorsThatEndOtherwise(t *testing.T) {
	g := childproc.NewGroup()
	defer g.Close(time.Second)
	start := func(script string) *childproc.Process {
		p, err := g.Start(childproc.Command{Name: "visitor-001", Argv: []string{"sh", "-c", script}, Log: t.TempDir() + "/log"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	deaf := start("trap '' TERM; echo ready; while :; do sleep 1; done")
	if _, err := deaf.AwaitLog(t.Context(), regexp.MustCompile("ready")); err != nil {
		t.Fatal(err)
	}
	ended := start("echo no master; exit 3")
	<-ended.Exited()
	for _, c := range []struct {
		process *childproc.Process
		want    []string
	}{
		{ended, []string{"visitor-001 ended by itself (exit status 3)", "no master"}},
		{deaf, []string{"visitor-001 did not end within 100ms of SIGTERM", "ready"}},
	} {
		v := &visitors{within: 100 * time.Millisecond, present: []visitor{{"visitor-001", c.process}}}
		err := v.leave(0, false)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if v.stopped != 0 || len(v.present) != 0 || c.process.Running() {
			t.Errorf("%d stopped in order, %d present, running: %v", v.stopped, len(v.present), c.process.Running())
		}
	}
	orderly := start("exec sleep 60")
	v := &visitors{within: stopsWithin, present: []visitor{{"visitor-002", orderly}}}
	if err := v.leave(0, false); err != nil || v.stopped != 1 || orderly.Status() != 128+int(syscall.SIGTERM) {
		t.Errorf("%v; %d stopped in order, status %d", err, v.stopped, orderly.Status())
	}
}
