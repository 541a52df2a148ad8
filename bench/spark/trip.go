package spark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/bench/measure"
)

// Trips that one repetition measures: as many as the plugin's metrics remember.
const trips = 1024

// trip measures how long a grant is waited for: jobs of one task that does nothing,
// one after another, on an idle cluster with warm executors. It is from the moment
// the driver wants a grant until it has it, through frontend, master, node monitor
// and executor. The whole job's time over standalone's is told too.
func (s *suite) trip(ctx context.Context, standalone, pigeon lane) ([]Row, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tripTime, fmt.Errorf("it took longer than %v", tripTime))
	defer cancel()
	p50, p99 := Row{Name: "grant round trip, p50", Unit: "ms", Limit: most(1)}, Row{Name: "grant round trip, p99", Unit: "ms", Limit: most(3)}
	whole := Row{Name: "a job of one empty task, p50, " + pigeon.name + " over standalone"}
	alone := Row{Name: "a job of one empty task, p50, standalone", Unit: "ms"}
	for k := range s.o.Repeats {
		s.o.Progress(fmt.Sprintf("%d jobs of one empty task, %d of %d", trips, k+1, s.o.Repeats))
		plain, err := standalone.driver.ask(ctx, fmt.Sprintf("each %d", trips))
		if err != nil {
			return nil, err
		}
		granted, err := pigeon.driver.ask(ctx, fmt.Sprintf("each %d", trips))
		if err != nil {
			return nil, err
		}
		waits, err := pigeon.driver.ask(ctx, "waits")
		if err != nil {
			return nil, err
		}
		if len(waits) == 0 {
			return nil, errors.New("the driver on Pigeon had no grants to tell of; is spark.pigeon.mode grants?")
		}
		p50.Values = append(p50.Values, 1e3*percentile(waits, 50))
		p99.Values = append(p99.Values, 1e3*percentile(waits, 99))
		alone.Values = append(alone.Values, 1e3*percentile(plain, 50))
		whole.Values = append(whole.Values, percentile(granted, 50)/percentile(plain, 50))
	}
	return []Row{p50, p99, alone, whole}, nil
}

const tripTime = 5 * time.Minute

func percentile(sample []float64, p float64) float64 {
	return measure.Percentile(slices.Sorted(slices.Values(sample)), p)
}
