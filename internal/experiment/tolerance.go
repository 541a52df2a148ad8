package experiment

import (
	"context"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

// slack is the difference of a completion time by rounding, in ns.
const slack = 1000

// tolerance is the time that a simulated job may take beyond its longest task and still
// count as unqueued, by class: the messages of a job that is alone in the cluster,
// and slack. A task of pigeon needs three messages (to the master, to the worker, the
// report); a task of sparrow needs four, since the worker that holds a probe requests it
// first. Eagle and Hawk have both, by class.
func (r *Run) tolerance(ctx context.Context, delay time.Duration) (byClass [2]int64, err error) {
	for class := range byClass {
		took, err := r.messageTime(ctx, delay, class == 1)
		if err != nil {
			return byClass, err
		}
		byClass[class] = took + slack
	}
	return byClass, nil
}

// messageTime returns the time (ns) that messages add to a job of one task in a small
// cluster that has nothing else to do.
func (r *Run) messageTime(ctx context.Context, delay time.Duration, long bool) (int64, error) {
	const duration = int64(sched.Second)
	job := sim.Job{Line: 1, Estimate: sched.Time(duration), Durations: []int64{duration}, Long: long}
	params := r.Params
	params.Reserved = 0 // some worker must take a long task, however few there are
	out, err := sim.Run(ctx, []sim.Job{job}, sim.Config{
		Policy: r.Cores, Params: params, Groups: slices.Repeat([]int{8 * r.Cores.SlotsPerWorker()}, 2), Frontends: 1,
		Delay: sched.Time(delay), Seed: r.Seed,
	})
	if err != nil {
		return 0, err
	}
	return int64(out.Jobs[0].Completion) - duration, nil
}
