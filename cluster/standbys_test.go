package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// A master or frontend that ends while a cluster with standbys starts is started again, three times;
// any other end is the error of the start.
func TestDaemonsAreStartedAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		spec   Spec
		role   Role
		ends   string // how many of its starts end at once
		starts int
		fails  bool
	}{
		{"a frontend that comes back", Spec{FrontendStandbys: true}, Frontend, "2", 3, false},
		{"a frontend that does not", Spec{FrontendStandbys: true}, Frontend, "9", 4, true},
		{"a master that comes back", Spec{MasterStandbys: 1}, Master, "1", 2, false},
		{"a node monitor", Spec{MasterStandbys: 1}, NodeMonitor, "1", 1, true},
		{"a master without standbys", Spec{}, Master, "1", 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			starts := filepath.Join(t.TempDir(), "starts")
			p := newProcesses(&Cluster{spec: c.spec, failed: make(chan error, 1)})
			defer p.group.Close(0)
			m := &member{command: childproc.Command{Name: "daemon", Argv: []string{
				"sh", "-c", `echo >> "$1"; [ $(wc -l < "$1") -gt "$2" ] || exit 7; exec sleep 600`, "sh", starts, c.ends,
			}}}
			p.members[c.role] = []*member{m}
			if err := m.start(p.group, p.c.fail); err != nil {
				t.Fatal(err)
			}
			err := p.poll(t.Context(), func() error {
				if text, _ := os.ReadFile(starts); strings.Count(string(text), "\n") == c.starts && !c.fails {
					return nil
				}
				return errors.New("it was not started often enough")
			})
			if (err != nil) != c.fails || errors.Is(err, context.Canceled) {
				t.Errorf("the start failed with %v, want a failure: %t", err, c.fails)
			}
			if text, _ := os.ReadFile(starts); strings.Count(string(text), "\n") != c.starts {
				t.Errorf("it was started %d times, want %d", strings.Count(string(text), "\n"), c.starts)
			}
			_ = m.kill() // one that failed has ended
		})
	}
}
