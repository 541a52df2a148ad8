package spark

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/bench/spark/driver"
	"golang.org/x/sync/errgroup"
)

// The cluster that four drivers share, and their work: three have a
// stream of jobs of short tasks, 40 % of the slots together; one has a job of long
// tasks that would fill all of them.
const (
	sharedNodes = 2
	sharedSlots = 8

	streams     = 3
	streamTasks = 10
	streamSleep = 50 * time.Millisecond
	streamLoad  = 0.4
	streamTime  = time.Minute
	rehearsal   = time.Minute // of the streams alone, before they are measured: compilers settle

	longTasks = 14
	longSleep = 10 * time.Second

	// longSlots is the equal share of the long job, as with
	// spark.cores.max. On Pigeon all others are reserved for short tasks.
	longSlots = sharedSlots / (streams + 1)

	// longWeight is the W of Pigeon: of this many consecutive tasks of its general
	// workers at least one is long. Otherwise a slot that a long task has left would
	// run short tasks for as long as any wait.
	longWeight = 5
)

// streamRate is how many jobs a second one stream submits.
const streamRate = streamLoad * sharedSlots / (streamTasks * float64(streamSleep) / float64(time.Second)) / streams

// sharingTime bounds one way of sharing: the streams, and behind them the long job
// or, one after another, the jobs that the others could not run meanwhile.
const sharingTime = 6 * time.Minute

// sharing is a way for drivers to share a cluster.
type sharing struct {
	name     string
	settings []string // of every driver
	cold     bool     // others have no executors while the long job's driver is there
}

var (
	fifo    = sharing{name: "standalone FIFO", cold: true}
	static  = sharing{name: "standalone, spark.cores.max", settings: []string{fmt.Sprintf("spark.cores.max=%d", longSlots)}}
	dynamic = sharing{name: "standalone, dynamic allocation", settings: []string{
		"spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.shuffleTracking.enabled=true",
		"spark.dynamicAllocation.minExecutors=1", "spark.dynamicAllocation.executorIdleTimeout=2s", "spark.executor.cores=1",
	}}
	granted = sharing{name: "Pigeon"}
)

// shared is the outcome of a way of sharing, in seconds.
type shared struct {
	short [][]float64 // completion times, by driver
	long  float64
}

// sharing runs the four drivers in each way, one way after another.
func (s *suite) sharing(ctx context.Context) ([]Row, error) {
	machine := Machine{Nodes: sharedNodes, Slots: sharedSlots / sharedNodes, Reserved: 1 - float64(longSlots)/sharedSlots, Weight: longWeight}
	alone, err := s.place.standalone(ctx, machine)
	if err != nil {
		return nil, err
	}
	got := map[string]*shared{}
	for _, way := range []sharing{fifo, static, dynamic} {
		if got[way.name], err = s.share(ctx, alone, way); err != nil {
			return nil, err
		}
	}
	if err := alone.end(); err != nil {
		return nil, err
	}
	pigeon, err := s.place.pigeon(ctx, machine)
	if err != nil {
		return nil, err
	}
	defer pigeon.end() //nolint:errcheck // the earlier error is returned
	if got[granted.name], err = s.share(ctx, pigeon, granted); err != nil {
		return nil, err
	}
	return sharingRows(got), pigeon.end()
}

// share starts the drivers, the long job's first, and makes them all begin at once. A
// driver whose work has ended is closed, so that its executors are free for others.
func (s *suite) share(ctx context.Context, m *manager, way sharing) (*shared, error) {
	s.o.Progress(fmt.Sprintf("%d streams of short jobs beside a long job: %s", streams, way.name))
	ctx, cancel := context.WithTimeoutCause(ctx, sharingTime, fmt.Errorf("it took longer than %v", sharingTime))
	defer cancel()
	long, err := s.place.warm(ctx, m, "long", append([]string{"spark.pigeon.class=long"}, way.settings...)...)
	if err != nil {
		return nil, err
	}
	defer long.Close(grace)
	short, err := s.shortDrivers(ctx, m, way)
	defer func() {
		for _, d := range short {
			d.Close(grace)
		}
	}()
	if err != nil {
		return nil, err
	}
	out := &shared{short: make([][]float64, streams)}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() (err error) {
		defer long.Close(grace)
		out.long, err = oneJob(ctx, long, longTasks, longSleep)
		return err
	})
	for k, d := range short {
		work.Go(func() (err error) {
			defer d.Close(grace)
			out.short[k], err = d.Ask(ctx, s.stream(k, streamTime))
			return err
		})
	}
	return out, work.Wait()
}

// stream returns the command for a stream of jobs of the given length.
func (s *suite) stream(k int, lasts time.Duration) string {
	at := Arrivals(s.o.Seed, uint64(k), streamRate, lasts) //nolint:gosec // a small number
	return fmt.Sprintf("stream %d %d %s", streamTasks, streamSleep.Milliseconds(), seconds(at))
}

// shortDrivers starts the drivers of the streams side by side, and returns those that
// were started also with an error.
func (s *suite) shortDrivers(ctx context.Context, m *manager, way sharing) ([]*driver.Driver, error) {
	var list []*driver.Driver
	for range streams {
		d, err := s.place.driver(m, "short", append([]string{"spark.pigeon.class=short"}, way.settings...)...)
		if err != nil {
			return list, err
		}
		list = append(list, d)
	}
	starts, startCtx := errgroup.WithContext(ctx)
	for _, d := range list {
		starts.Go(func() error {
			if way.cold {
				return d.Ready(startCtx)
			}
			return warm(startCtx, d)
		})
	}
	if err := starts.Wait(); err != nil || way.cold {
		return list, err
	}
	rehearsals, ctx := errgroup.WithContext(ctx)
	for k, d := range list {
		rehearsals.Go(func() error {
			_, err := d.Ask(ctx, s.stream(k+streams, rehearsal))
			return err
		})
	}
	return list, rehearsals.Wait()
}

// sharingRows compares all ways with Pigeon.
func sharingRows(got map[string]*shared) []Row {
	pigeon := got[granted.name]
	rows := timesRows(granted, pigeon)
	for _, x := range []struct {
		way   sharing
		limit float64
	}{{fifo, 10}, {static, 3}, {dynamic, 3}} {
		other := got[x.way.name]
		all := percentile(slices.Concat(other.short...), 99) / percentile(slices.Concat(pigeon.short...), 99)
		r := Row{Name: "short jobs' p99, " + x.way.name + " over Pigeon", Limit: least(x.limit), Value: &all}
		for k := range other.short {
			r.Values = append(r.Values, percentile(other.short[k], 99)/percentile(pigeon.short[k], 99))
		}
		rows = append(append(rows, timesRows(x.way, other)...), r)
	}
	work := longTasks * longSleep.Seconds()
	return append(rows,
		Row{Name: fmt.Sprintf("long job on Pigeon, over what the %d slots take that are not reserved", longSlots), Limit: most(1.05), Values: []float64{pigeon.long * longSlots / work}},
		Row{Name: fmt.Sprintf("the same, standalone with %d slots of its own", longSlots), Values: []float64{got[static.name].long * longSlots / work}},
		Row{Name: "slots that the long job had, of those that the streams leave on average", Values: []float64{work / pigeon.long / (sharedSlots * (1 - streamLoad))}})
}

// timesRows returns how long the short jobs took, all of them and by driver.
func timesRows(way sharing, x *shared) (rows []Row) {
	for _, p := range []float64{50, 99} {
		all := percentile(slices.Concat(x.short...), p)
		r := Row{Name: fmt.Sprintf("short jobs' p%g, %s", p, way.name), Unit: "s", Value: &all}
		for _, times := range x.short {
			r.Values = append(r.Values, percentile(times, p))
		}
		rows = append(rows, r)
	}
	return rows
}
