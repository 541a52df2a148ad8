package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// The job that outlives its frontend.
const (
	longTasks = 400
	longLasts = 100 * time.Millisecond
)

var errNotOn = errors.New("the standby accepted no further result of the job for 20 s")

// loseFrontend kills the frontend that leads and removes its disk, while it has a job of
// many tasks, and returns how long it takes until the standby has accepted a further result.
func (w *world) loseFrontend(ctx context.Context) (time.Duration, error) {
	leader, err := w.leader(ctx, cluster.Frontend, frontends)
	if err != nil {
		return 0, err
	}
	w.lost++
	key := fmt.Sprintf("outlives-%d", w.lost)
	at := w.load.Frontend(leader)
	if _, _, err := at.Submit(ctx, w.load.Request(key, "short", slices.Repeat([]time.Duration{longLasts}, longTasks))); err != nil {
		return 0, err
	}
	var before api.Status
	for before.Completed == 0 {
		if before, err = at.Status(ctx, key); err != nil {
			return 0, err
		}
		delay.For(ctx, 50*time.Millisecond)
	}
	from := chaos.Now()
	if err := w.c.Lose(cluster.Frontend, leader); err != nil {
		return 0, err
	}
	pause, standby, answers := time.Duration(0), w.load.Frontend(1-leader), false
	for pause == 0 {
		call, stop := context.WithTimeout(ctx, time.Second)
		s, err := standby.Status(call, key)
		stop()
		switch took := time.Duration(chaos.Now() - from); {
		case err == nil && !answers: // results that the former one accepted are in its journal
			before, answers = s, true
		case err == nil && s.Completed > before.Completed:
			pause = took
		case took > 20*time.Second:
			return 0, errors.Join(errNotOn, err)
		case !delay.For(ctx, 5*time.Millisecond):
			return 0, ctx.Err()
		}
	}
	if err := w.c.Restart(cluster.Frontend, leader); err != nil {
		return 0, err
	}
	for ended := false; !ended && ctx.Err() == nil; {
		s, err := standby.Wait(ctx, key, 2*time.Second)
		ended = err == nil && s.State.Ended()
	}
	return pause, nil
}
