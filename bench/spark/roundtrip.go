package spark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Trips that one repetition measures: as many as the plugin's metrics remember.
const trips = 1024

// settling is how many rounds run before they are measured. The compilers of both
// JVMs are active until then, and on two processors threads that wake up wait for them: the
// 99th percentile of the first of these rounds is three times that of the last.
const settling = 8

// trip measures how long a driver waits for a grant: jobs of one task that does nothing,
// one after another, on an idle cluster with warm executors. It is from the moment
// the driver wants a grant until it has it, through frontend, master, node monitor
// and executor. A further row is the whole job's time over standalone's.
func (s *suite) trip(ctx context.Context, standalone, pigeon lane) ([]Row, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tripTime, fmt.Errorf("it took longer than %v", tripTime))
	defer cancel()
	p50, p99 := Row{Name: "grant round trip, p50", Unit: "ms", Limit: most(1)}, Row{Name: "grant round trip, p99", Unit: "ms", Limit: most(3)}
	whole := Row{Name: "a job of one empty task, p50, " + pigeon.name + " over standalone"}
	alone := Row{Name: "a job of one empty task, p50, standalone", Unit: "ms"}
	early := Row{Name: "grant round trip, p99, in round after round before these", Unit: "ms"}
	for k := range settling + s.o.Repeats {
		s.o.Progress(fmt.Sprintf("%d jobs of one empty task, %d of %d", trips, k+1, settling+s.o.Repeats))
		t, err := s.tripOnce(ctx, standalone, pigeon)
		if err != nil {
			return nil, err
		}
		if k < settling {
			early.Values = append(early.Values, 1e3*percentile(t.waits, 99))
			continue
		}
		p50.Values = append(p50.Values, 1e3*percentile(t.waits, 50))
		p99.Values = append(p99.Values, 1e3*percentile(t.waits, 99))
		alone.Values = append(alone.Values, 1e3*percentile(t.plain, 50))
		whole.Values = append(whole.Values, percentile(t.granted, 50)/percentile(t.plain, 50))
	}
	return []Row{p50, p99, early, alone, whole}, nil
}

// round is one round of jobs: the time of each under either manager, and the times of
// their grants, in seconds.
type round struct{ plain, granted, waits []float64 }

func (s *suite) tripOnce(ctx context.Context, standalone, pigeon lane) (r round, err error) {
	if r.plain, err = standalone.driver.Ask(ctx, fmt.Sprintf("each %d", trips)); err != nil {
		return r, err
	}
	if r.granted, err = pigeon.driver.Ask(ctx, fmt.Sprintf("each %d", trips)); err != nil {
		return r, err
	}
	if r.waits, err = pigeon.driver.Ask(ctx, "waits"); err != nil {
		return r, err
	}
	if len(r.waits) == 0 {
		return r, errors.New("the driver on Pigeon waited for no grant; is spark.pigeon.mode grants?")
	}
	return r, nil
}

const tripTime = 10 * time.Minute

func percentile(sample []float64, p float64) float64 {
	return measure.Percentile(slices.Sorted(slices.Values(sample)), p)
}
