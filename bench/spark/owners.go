package spark

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/spark/driver"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"golang.org/x/sync/errgroup"
)

// Three people share the slots, all with short work: two have a stream of jobs each, the
// third runs one stage of many tasks, which would take all slots for a minute.
const (
	peopleStreams = 2
	peopleLoad    = 0.2 // of all slots, by each stream
	floodTasks    = 10_000

	peopleRehearsal = 20 * time.Second // of the streams alone, before they are measured
	peopleWindow    = 40 * time.Second // in which jobs of the streams are submitted; the flood takes longer
)

// peopleRate is how many jobs a second one stream submits.
const peopleRate = peopleLoad * sharedSlots / (streamTasks * float64(streamSleep) / float64(time.Second))

// peopleTime bounds the streams, or the streams and the flood.
const peopleTime = 8 * time.Minute

// peopleLimit is how much longer the streams' jobs may take during the flood, by the 99th
// percentile.
const peopleLimit = 1.5

// people is a way for three people to share a cluster.
type people struct {
	name   string
	pigeon bool
	pools  bool     // one application, in which each has a pool
	cold   bool     // a driver has executors only while no other one holds the slots
	all    []string // settings of every driver
	flood  []string // of the flood's driver besides
	stream []string // of the streams' drivers besides; %d is the number of the stream
	limit  *Limit
}

// Under FIFO one driver has all slots until it ends, so that there is no figure without the
// flood which could be compared. The static shares are those that suit the streams best: as
// much for each as it needs on average and a quarter more, the rest for the flood.
var peopleWays = []people{
	{name: "Pigeon", pigeon: true, flood: []string{"spark.pigeon.owner=flood"}, stream: []string{"spark.pigeon.owner=stream%d"}, limit: most(peopleLimit)},
	{name: "Pigeon, the streams' weights 3, the flood's 1", pigeon: true, flood: []string{"spark.pigeon.owner=flood"}, stream: []string{"spark.pigeon.owner=" + peopleWeighted + "%d"}, limit: most(peopleLimit)},
	{name: "Pigeon, one application with an owner for each pool", pigeon: true, pools: true, all: poolOwners()},
	{name: "standalone, spark.cores.max", flood: []string{"spark.cores.max=4"}, stream: []string{"spark.cores.max=2"}},
	{name: "standalone, one application with FAIR pools", pools: true, all: []string{"spark.scheduler.mode=FAIR"}},
	{name: "standalone FIFO", cold: true},
	{name: "Pigeon, one owner for all", pigeon: true, all: []string{"spark.pigeon.owner=everybody"}},
}

// peopleWeighted begins the names of owners with a greater weight.
const (
	peopleWeighted = "answers"
	peopleWeight   = 3
)

// peopleShares are the weights of the owners that have more than one.
func peopleShares() (s owners.Shares) {
	for k := range peopleStreams {
		s.Shares = append(s.Shares, owners.Share{Owner: fmt.Sprintf("%s%d", peopleWeighted, k+1), Weight: peopleWeight})
	}
	return s
}

// poolOwners are the settings of an application whose pools belong to different owners.
func poolOwners() []string {
	list := []string{"spark.scheduler.mode=FAIR", "spark.pigeon.pool.flood.owner=flood"}
	for k := range peopleStreams {
		list = append(list, fmt.Sprintf("spark.pigeon.pool.stream%d.owner=stream%[1]d", k+1))
	}
	return list
}

// served is what the streams' jobs took in one of the ways, in seconds.
type served struct {
	way           people
	alone, beside []float64
}

// people runs the streams in each way, alone and during the flood.
func (s *suite) people(ctx context.Context) (rows []Row, err error) {
	machine := Machine{Nodes: sharedNodes, Slots: sharedSlots / sharedNodes, Shares: peopleShares()}
	var m *manager
	defer func() {
		if m != nil {
			_ = m.end() // the earlier error is returned
		}
	}()
	var got []served
	for i, way := range peopleWays {
		if i == 0 || way.pigeon != peopleWays[i-1].pigeon {
			start := s.place.standalone
			if way.pigeon {
				start = s.place.pigeon
			}
			if m != nil {
				if err := m.end(); err != nil {
					return peopleRows(got), err
				}
			}
			if m, err = start(ctx, machine); err != nil {
				return peopleRows(got), err
			}
		}
		x, err := s.serve(ctx, m, way)
		if err != nil {
			return peopleRows(got), err
		}
		got = append(got, x)
	}
	return peopleRows(got), nil
}

// serve runs the streams alone and then, with the same arrivals, during the flood.
func (s *suite) serve(ctx context.Context, m *manager, way people) (x served, err error) {
	s.o.Progress(fmt.Sprintf("%d streams of short jobs beside %d tasks of somebody else: %s", peopleStreams, floodTasks, way.name))
	x.way = way
	ctx, cancel := context.WithTimeoutCause(ctx, 2*peopleTime, fmt.Errorf("it took longer than %v", 2*peopleTime))
	defer cancel()
	if way.pools {
		return s.serveByPools(ctx, m, way)
	}
	var flood *driver.Driver
	if way.cold { // it has all slots when the others come
		if flood, err = s.place.warm(ctx, m, "flood", slices.Concat(way.all, way.flood)...); err != nil {
			return x, err
		}
		defer flood.Close(grace)
	}
	short, err := s.streamDrivers(ctx, m, way)
	defer func() {
		for _, d := range short {
			d.Close(grace)
		}
	}()
	if err != nil {
		return x, err
	}
	if way.cold {
		x.beside, err = s.beside(ctx, way, flood, short)
		return x, err
	}
	if _, err := s.streamsOf(ctx, short, peopleStreams, peopleRehearsal); err != nil {
		return x, err
	}
	if x.alone, err = s.streamsOf(ctx, short, 0, peopleWindow); err != nil {
		return x, err
	}
	if flood, err = s.place.warm(ctx, m, "flood", slices.Concat(way.all, way.flood)...); err != nil {
		return x, err
	}
	defer flood.Close(grace)
	x.beside, err = s.beside(ctx, way, flood, short)
	return x, err
}

// streamDrivers starts the drivers of the streams side by side, and returns those that were
// started also with an error.
func (s *suite) streamDrivers(ctx context.Context, m *manager, way people) (list []*driver.Driver, err error) {
	for k := range peopleStreams {
		settings := slices.Clone(way.all)
		for _, text := range way.stream {
			settings = append(settings, strings.ReplaceAll(text, "%d", fmt.Sprint(k+1)))
		}
		d, err := s.place.driver(m, "stream", settings...)
		if err != nil {
			return list, err
		}
		list = append(list, d)
	}
	starts, ctx := errgroup.WithContext(ctx)
	for _, d := range list {
		starts.Go(func() error {
			if way.cold {
				return d.Ready(ctx)
			}
			return warm(ctx, d)
		})
	}
	return list, starts.Wait()
}

// beside begins the flood and the streams together, and returns when the streams have ended:
// the flood takes longer. Where a driver has all slots while it is there, it is closed when
// its own work has ended.
func (s *suite) beside(ctx context.Context, way people, flood *driver.Driver, short []*driver.Driver) (all []float64, err error) {
	work, ctx := errgroup.WithContext(ctx)
	if err := flood.Send(fmt.Sprintf("sleep %d %d", floodTasks, streamSleep.Milliseconds())); err != nil {
		return nil, err
	}
	if way.cold {
		work.Go(func() error {
			defer flood.Close(grace)
			_, err := flood.Seconds(ctx, "the flood")
			return err
		})
	}
	took := make([][]float64, len(short))
	for k, d := range short {
		work.Go(func() (err error) {
			if way.cold {
				defer d.Close(grace)
			}
			took[k], err = d.Ask(ctx, s.peopleStream(k, peopleWindow))
			return err
		})
	}
	err = work.Wait()
	return slices.Concat(took...), err
}

// streamsOf runs the streams without the flood.
func (s *suite) streamsOf(ctx context.Context, short []*driver.Driver, seeds int, lasts time.Duration) ([]float64, error) {
	work, ctx := errgroup.WithContext(ctx)
	took := make([][]float64, len(short))
	for k, d := range short {
		work.Go(func() (err error) {
			took[k], err = d.Ask(ctx, s.peopleStream(k+seeds, lasts))
			return err
		})
	}
	err := work.Wait()
	return slices.Concat(took...), err
}

// peopleArrivals are the times at which the jobs of a stream are submitted.
func (s *suite) peopleArrivals(k int, lasts time.Duration) string {
	return seconds(Arrivals(s.o.Seed, uint64(k), peopleRate, lasts)) //nolint:gosec // a small number
}

func (s *suite) peopleStream(k int, lasts time.Duration) string {
	return fmt.Sprintf("stream %d %d %s", streamTasks, streamSleep.Milliseconds(), s.peopleArrivals(k, lasts))
}

// serveByPools runs all in one application.
func (s *suite) serveByPools(ctx context.Context, m *manager, way people) (x served, err error) {
	x.way = way
	d, err := s.place.warm(ctx, m, "pools", way.all...)
	if err != nil {
		return x, err
	}
	defer d.Close(grace)
	for _, run := range []struct {
		tasks, seeds int
		lasts        time.Duration
		out          *[]float64
	}{{0, peopleStreams, peopleRehearsal, &x.alone}, {0, 0, peopleWindow, &x.alone}, {floodTasks, 0, peopleWindow, &x.beside}} {
		command := []string{fmt.Sprintf("pools %d %d %d", run.tasks, streamTasks, streamSleep.Milliseconds())}
		for k := range peopleStreams {
			command = append(command, s.peopleArrivals(k+run.seeds, run.lasts))
		}
		if *run.out, err = d.Ask(ctx, strings.Join(command, " ")); err != nil {
			return x, err
		}
	}
	return x, nil
}

// peopleRows returns for each way what the streams' jobs took alone, and during the flood.
func peopleRows(got []served) (rows []Row) {
	for _, x := range got {
		way := x.way
		p99 := func(list []float64, what string) {
			rows = append(rows, Row{Name: fmt.Sprintf("streams' p99 %s, %s", what, way.name), Unit: "s", Values: []float64{percentile(list, 99)}})
		}
		if len(x.alone) > 0 {
			p99(x.alone, "alone")
		}
		p99(x.beside, "beside the flood")
		if len(x.alone) > 0 {
			for _, p := range []float64{50, 99} {
				r := Row{Name: fmt.Sprintf("p%g beside the flood over alone, %s", p, way.name), Values: []float64{percentile(x.beside, p) / percentile(x.alone, p)}}
				if p == 99 {
					r.Limit = way.limit
				}
				rows = append(rows, r)
			}
		}
	}
	return rows
}
