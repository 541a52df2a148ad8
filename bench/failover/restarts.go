package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos"
	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

const (
	// startsWithin bounds how long a task may take to start again, or a daemon to serve again.
	startsWithin = 20 * time.Second
	// youngest and oldest are the ages of a task whose process is killed: it is running, and not ending.
	youngest = 100 * time.Millisecond
	oldest   = 600 * time.Millisecond
)

// killProcess kills the process of a running task, and returns how long it takes until the task has
// started again. Its start is when its program writes its first line.
func (w *world) killProcess(ctx context.Context) (time.Duration, error) {
	e, err := w.runningTask(ctx)
	if err != nil {
		return 0, err
	}
	f := history.Fault{Victim: e.Node, Pid: e.Pid, From: chaos.Now()}
	if err := syscall.Kill(e.Pid, syscall.SIGKILL); err != nil {
		return 0, fmt.Errorf("the process of task %d of job %s: %w", e.Task, e.Job, err)
	}
	for end := f.From + startsWithin.Nanoseconds(); chaos.Now() < end && delay.For(ctx, 100*time.Millisecond); {
		events, err := history.ReadFolder(w.tasks)
		if err != nil {
			return 0, err
		}
		if again := (&history.Run{Events: events}).StartedAgain(f, true); len(again) > 0 {
			return seconds64(again[0]), nil
		}
	}
	return 0, errors.Join(ctx.Err(), fmt.Errorf("task %d of job %s has not started again for %v", e.Task, e.Job, startsWithin))
}

// runningTask returns the start of a task that is running.
func (w *world) runningTask(ctx context.Context) (history.Event, error) {
	for end := time.Now().Add(startsWithin); time.Now().Before(end) && delay.For(ctx, 20*time.Millisecond); {
		events, err := history.ReadFolder(w.tasks)
		if err != nil {
			return history.Event{}, err
		}
		for _, e := range slices.Backward(events) {
			if age := time.Duration(chaos.Now() - e.Time); e.Event == history.Start && age > youngest && age < oldest {
				return e, nil
			}
		}
	}
	return history.Event{}, errors.Join(ctx.Err(), fmt.Errorf("no task has run for %v", startsWithin))
}

// loseNode kills the node of a running task with all of its tasks, and returns how long it takes
// until these have started again, wherever.
func (w *world) loseNode(ctx context.Context) (time.Duration, error) {
	e, err := w.runningTask(ctx)
	if err != nil {
		return 0, err
	}
	i := 0
	for i < nodes-1 && w.c.Name(cluster.NodeMonitor, i) != e.Node {
		i++
	}
	f := history.Fault{Victim: e.Node, From: chaos.Now()}
	if err := w.c.Kill(cluster.NodeMonitor, i); err != nil {
		return 0, err
	}
	delay.For(ctx, hangs)
	events, err := history.ReadFolder(w.tasks)
	if err != nil {
		return 0, err
	}
	again := (&history.Run{Events: events}).StartedAgain(f, false)
	if err := w.c.Restart(cluster.NodeMonitor, i); err != nil {
		return 0, err
	}
	delay.For(ctx, watchFor)
	if len(again) == 0 {
		return 0, fmt.Errorf("no task of %s has started again for %v", f.Victim, hangs)
	}
	return seconds64(slices.Max(again)), nil
}

func seconds64(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// restartFrontend kills the frontend and starts it again, and returns how long it takes until it
// serves.
func (w *world) restartFrontend(ctx context.Context) (time.Duration, error) {
	at := chaos.Now()
	err := w.c.Kill(cluster.Frontend, 0)
	if err == nil {
		err = w.c.Restart(cluster.Frontend, 0)
	}
	if err != nil {
		return 0, err
	}
	for end := at + startsWithin.Nanoseconds(); chaos.Now() < end; {
		call, stop := context.WithTimeout(ctx, time.Second)
		err = w.load.Frontend(0).Ping(call)
		stop()
		if err == nil {
			return time.Duration(chaos.Now() - at), nil
		}
		if !delay.For(ctx, time.Millisecond) {
			break
		}
	}
	return 0, errors.Join(ctx.Err(), err, fmt.Errorf("the frontend has not served again for %v", startsWithin))
}
