package guard

import (
	"fmt"
	"os"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// TestOrphansAreReaped: what a running attempt leaves to the guard does not remain as a zombie,
// whether the kernel has pidfds or not; nor does the end of the attempt itself stay unknown.
func TestOrphansAreReaped(t *testing.T) {
	for name, command := range map[string][]string{
		"pidfds":  nil,
		"signals": {os.Args[0], bySignals},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{Command: command})
			defer c.Close(0)
			s := shell(`for i in 1 2 3; do (sh -c 'echo $$ >> pids; exec sleep 0.1' &); done; while [ ! -e stop ]; do sleep 0.01; done; exit 4`)
			s.Dir = t.TempDir()
			r := start(t, c, s)
			r.pid()
			for _, pid := range readPids(t, s.Dir+"/pids", 3) {
				await.Until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return state(pid) == "" })
			}
			if err := os.WriteFile(s.Dir+"/stop", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if e := r.end(); e.Status.ExitStatus() != 4 {
				t.Errorf("ended as %+v", e)
			}
		})
	}
}
