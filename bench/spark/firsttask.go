package spark

import (
	"context"
	"fmt"
	"time"
)

// first measures from spark-submit to the end of the first task, driver, executor
// and all, on an idle cluster, in turns.
func (s *suite) first(ctx context.Context, standalone, pigeon *manager) ([]Row, error) {
	ratio := Row{Name: "spark-submit to the first task finished, Pigeon over standalone", Limit: most(1.1)}
	plain := Row{Name: "spark-submit to the first task finished, standalone", Unit: "s"}
	for k := range 2 * s.o.Repeats {
		s.o.Progress(fmt.Sprintf("spark-submit to the first task, %d of %d", k+1, 2*s.o.Repeats))
		turn := []*manager{standalone, pigeon}
		if k%2 == 1 {
			turn[0], turn[1] = turn[1], turn[0]
		}
		took := map[*manager]float64{}
		for _, m := range turn {
			t, err := s.start(ctx, m)
			if err != nil {
				return nil, err
			}
			took[m] = t.Seconds()
		}
		plain.Values = append(plain.Values, took[standalone])
		ratio.Values = append(ratio.Values, took[pigeon]/took[standalone])
	}
	return []Row{ratio, plain}, nil
}

func (s *suite) start(ctx context.Context, m *manager) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it took longer than %v", startTime))
	defer cancel()
	d, err := s.place.driver(m, "first")
	if err != nil {
		return 0, err
	}
	defer d.Close(grace)
	if err := d.Send("sleep 1 0"); err != nil { // it lies ready in the driver's input
		return 0, err
	}
	if err := d.Ready(ctx); err != nil {
		return 0, err
	}
	_, err = d.Seconds(ctx, "sleep 1 0")
	return time.Since(d.Started()), err
}
