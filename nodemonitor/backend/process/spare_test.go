package process

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
)

// However an attempt begins or ends to which the folder of an ended one was offered, that one is
// dropped when its time is over.
func TestAnAttemptWhoseFolderWasOfferedIsDropped(t *testing.T) {
	for name, next := range map[string]backend.Task{
		"taken": task(1, "true"), "refused": task(1, "no-such-program"), "killed": task(1, "sleep", "1000"),
		"not started": task(1, "true"),
	} {
		t.Run(name, func(t *testing.T) {
			var later atomic.Int64
			opts := guard.Options{}
			if name == "not started" {
				opts.MaxRunning = 1
			}
			n := newNode(t, opts, func(c *logs.Config) {
				c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
			})
			n.run(t, task(0, "true"))
			if opts.MaxRunning == 1 {
				n.start(task(2, "sleep", "1000"))
			}
			later.Store(int64(400 * time.Millisecond)) // it is spare, and not measured yet
			end := n.start(next)
			if name == "killed" {
				n.Kill(id(1))
			}
			r := <-end
			later.Store(int64(2 * time.Hour))
			if err := n.logs.Sweep(); err != nil {
				t.Error(err)
			}
			if have := n.logs.Attempts(id(0).Job, 0); len(have) > 0 {
				t.Errorf("after %+v attempts %v are not dropped", r, have)
			}
		})
	}
}
