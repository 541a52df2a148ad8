package chaos

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// TestOneFaultEndsADaemon: a fault that comes while another one has ended its victim does not
// take place, and leaves the victim to that one. The supervisor would take it for a daemon that
// ended by itself.
func TestOneFaultEndsADaemon(t *testing.T) {
	in := newInjector(nil, fleet{}, nil, nil, "", 0, nil)
	v := victim{cluster.NodeMonitor, 1}
	in.hold(v, true)
	for name, fault := range map[string]func(planned) error{
		"killed":  func(p planned) error { return in.killed(t.Context(), p) },
		"stopped": func(p planned) error { _, err := in.stopped(t.Context(), p); return err },
		"lost":    func(p planned) error { return in.lose(t.Context(), p) },
	} {
		if err := fault(planned{of: v}); !errors.Is(err, errNotRunning) || !in.held(v) {
			t.Errorf("%s: %v, held %v", name, err, in.held(v))
		}
	}
	if in.hold(v, false); !in.take(v) || in.take(v) {
		t.Error("a daemon that runs cannot be taken, or twice")
	}
}

// TestGuardOfARestartedNode: the guard of a node that was killed outlives it and continues under the
// next process of the node, whose child it is not: faults of guards and tasks meet it all the same.
func TestGuardOfARestartedNode(t *testing.T) {
	g := childproc.NewGroup()
	defer g.Close(time.Second)
	start := func(script string) *childproc.Process {
		p, err := g.Start(childproc.Command{Name: "node", Argv: []string{"sh", "-c", script, "node"}, Log: t.TempDir() + "/log"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.AwaitLog(t.Context(), regexp.MustCompile("ready")); err != nil {
			t.Fatal(err)
		}
		return p
	}
	const withGuard = `trap '' TERM; sh -c 'echo ready; while :; do sleep 1; done' ` + guard.Verb + ` & wait`
	in := newInjector(nil, fleet{}, nil, nil, "", 0, nil)
	v := victim{cluster.NodeMonitor, 1}
	former, next := start(withGuard), start("echo ready; exec sleep 60")
	if got := in.guardOf(v, next.Pid()); got != 0 {
		t.Errorf("a node without a guard has %d", got)
	}
	its := in.guardOf(v, former.Pid())
	in.keepGuard(v, former.Pid())
	if got := in.guardOf(v, next.Pid()); its == 0 || got != its {
		t.Errorf("the guard of the next process is %d, want %d, that of the former one", got, its)
	}
	if got := in.guardOf(v, 0); got != 0 {
		t.Errorf("a node that does not run has the guard %d", got)
	}
	own := start(withGuard)
	if got := in.guardOf(v, own.Pid()); got == 0 || got == its {
		t.Errorf("a node that has started a guard of its own has %d", got)
	}
	former.Kill() // and its guard, which ends by itself
	await.Until(t, "a guard that has ended is none", func() bool { return in.guardOf(v, next.Pid()) == 0 })
}
