package spark

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/bench/spark/driver"
)

// wave is a length of task, with the limit of grants over standalone and how often
// it is repeated: short ones are cheap, and vary more.
type wave struct {
	millis, repeat int
	limit          float64
}

// waves returns the waves whose limits are promised. The longest is repeated repeats times.
func waves(repeats int) []wave {
	return []wave{{10, 3 * repeats, 1.05}, {50, 2 * repeats, 1.02}, {100, repeats, 1.01}}
}

// Tasks of a wave, and the slots that they run on.
const (
	waveTasks = 500
	waveSlots = 2
)

// waveTime bounds one wave on a loaded machine.
const waveTime = 5 * time.Minute

// lane is one of several warm drivers that are measured in turn.
type lane struct {
	name   string
	driver *driver.Driver
}

// waves measures 500 sleeping tasks on two slots: every lane in turn, beginning
// with another one each time, and each repetition's ratio to the first lane, which
// is standalone. A further row is standalone over the tasks without any cost.
func (s *suite) waves(ctx context.Context, lanes []lane) ([]Row, error) {
	var rows []Row
	for _, w := range waves(s.o.Repeats) {
		took := make([][]float64, len(lanes))
		for k := range w.repeat {
			for i := range lanes {
				l := (i + k) % len(lanes)
				s.o.Progress(fmt.Sprintf("%d tasks of %d ms on %s, %d of %d", waveTasks, w.millis, lanes[l].name, k+1, w.repeat))
				seconds, err := s.wave(ctx, lanes[l].driver, w.millis)
				if err != nil {
					return nil, err
				}
				took[l] = append(took[l], seconds)
			}
		}
		rows = append(rows, waveRows(w, lanes, took)...)
	}
	return rows, nil
}

func (s *suite) wave(ctx context.Context, d *driver.Driver, millis int) (float64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, waveTime, fmt.Errorf("it took longer than %v", waveTime))
	defer cancel()
	return oneJob(ctx, d, waveTasks, time.Duration(millis)*time.Millisecond)
}

// waveRows returns the ratio of each lane to the first, repetition by repetition, and
// the ratio of standalone to bare sleep.
func waveRows(w wave, lanes []lane, took [][]float64) []Row {
	what := fmt.Sprintf("%d tasks of %d ms on %d slots", waveTasks, w.millis, waveSlots)
	bare := float64(waveTasks*w.millis) / 1000 / waveSlots
	rows := []Row{{Name: what + ", standalone over bare sleep", Values: ratios(took[0], bare)}}
	for i, l := range lanes[1:] {
		r := Row{Name: what + ", " + l.name + " over standalone"}
		if i == 0 {
			r.Limit = most(w.limit)
		}
		for k, t := range took[i+1] {
			r.Values = append(r.Values, t/took[0][k])
		}
		rows = append(rows, r)
	}
	return rows
}

func ratios(took []float64, to float64) []float64 {
	list := slices.Clone(took)
	for i := range list {
		list[i] /= to
	}
	return list
}
