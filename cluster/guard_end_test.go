package cluster_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
)

// Tasks that kill their guard fail after a few attempts in a cluster of any size, with that reason, and the
// tasks beside them run to their end, lost at most once.
func TestTasksThatKillTheirGuard(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"pigeon", "sparrow"} { // launches by masters, and by frontends
		for _, groups := range [][]int{{1}, {2, 1}} {
			t.Run(fmt.Sprintf("%s, groups of %v", policy, groups), func(t *testing.T) {
				t.Parallel()
				if policy == "sparrow" {
					groups = []int{len(groups)}
				}
				c := start(t, cluster.Spec{Policy: policy, Groups: groups, Slots: 8})
				s := scheduler(t, c.Frontends()[0])
				innocent := submitProcesses(t, s, "innocent", "short", 4, "")
				await.Until(t, "they run", func() bool { return len(innocent.starts()) == 4 })
				const culprits = 2
				tasks := make([]api.Task, culprits)
				for i := range tasks {
					tasks[i].Payload = api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", "kill -9 $PPID; sleep 3"}}}
				}
				id, _, err := s.Submit(t.Context(), &api.Request{Backend: api.BackendExec, Key: "culprits", Class: "short", Tasks: tasks})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
				defer cancel()
				got, err := s.Wait(ctx, id, time.Minute)
				if err != nil || got.State != api.StateFailed || got.Failed != culprits || !strings.Contains(got.Reason, "ran alone under each of 3 guards") {
					t.Errorf("the culprits: %+v, %v", got, err)
				}
				innocent.finish()
				innocent.await()
				for task := range 4 {
					if n, _ := filepath.Glob(fmt.Sprintf("%s/%d.*@*", innocent.dir, task)); len(n) > 2 {
						t.Errorf("task %d beside them was started %d times", task, len(n))
					}
				}
			})
		}
	}
}
