package sim_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// docs/users.md: "a short job behind long ones starts within the cutoff plus a tenth of a second,
// and none of them need declare its class". The long tasks hold every slot; they are of one job, of
// several, or of one each. The paper's policy makes the short job wait for their end.
func TestShortStartsBehindUndeclaredLongOnes(t *testing.T) {
	const slots = 16
	for jobs, tasks := range map[int]int{1: 32, 4: 8, slots: 1} {
		for _, after := range []sched.Time{0, sched.Second / 2, 5 * sched.Second} {
			t.Run(fmt.Sprint(jobs, " jobs, ", after), func(t *testing.T) {
				w := &workload.Workload{}
				for range jobs {
					w.Jobs = append(w.Jobs, workload.Job{Line: len(w.Jobs) + 1, Undeclared: true, Durations: equal(tasks, 40*sched.Second)})
				}
				w.Jobs = append(w.Jobs, workload.Job{Line: len(w.Jobs) + 1, Arrival: int64(after), Undeclared: true, Durations: equal(6, sched.Second/10)})
				cfg := ec2(slots/2, slots/2)
				o := run(t, w, under(t, "pigeon-x", cfg))
				bound := after + cfg.Params.Cutoff + sched.Second/10
				for i, start := range o.Starts[len(o.Starts)-6:] {
					if start > bound {
						t.Errorf("short task %d starts %.3f s after it arrived", i, float64(start-after)/1e9)
					}
				}
			})
		}
	}
}

// equal returns the durations of n equal tasks.
func equal(n int, d sched.Time) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(d)
	}
	return list
}
