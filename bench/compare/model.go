package compare

import (
	"context"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/bench/model"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Model is the setting of section 3 of the Pigeon paper: jobs of equal
// fan-out, tasks of exponential durations, Poisson arrivals, one class.
type Model struct {
	GroupSizes []int     // N_w
	Loads      []float64 // rho
	Tasks      int       // F, of a job
	MeanTask   time.Duration
	// Of the simulation: jobs (0 for none), workers in all, message delay, seed.
	Jobs    int
	Workers int
	Delay   time.Duration
	Seed    uint64
}

// Bounds of a model.
const (
	MaxModelPoints  = 1000
	MaxModelWorkers = 200_000
	MaxModelTasks   = 10_000_000 // of one simulated point
	minModelJobs    = 20         // of a simulated point: the first fifth is not counted
)

// ModelPoint is one policy at one group size and load.
type ModelPoint struct {
	Policy       string          `json:"policy"`              // pigeon or sparrow
	Group        int             `json:"group,omitempty"`     // workers of a group; none for Sparrow, which has no groups
	Load         float64         `json:"load"`                // of each worker
	Tasks        int             `json:"tasks"`               // of a job
	Unqueued     measure.Number  `json:"unqueued"`            // P_job(0) for exponential durations: no queueing delays the completion, though a task that is not the last may wait; Sparrow has no formula
	NoTaskWaits  measure.Number  `json:"no_task_waits"`       // P_job(0) for equal durations, P_task(0)^F: any wait delays the completion; Sparrow's is a sum
	TaskUnqueued measure.Number  `json:"task_unqueued"`       // P_task(0); Sparrow's is not the paper's
	Queueing     measure.Number  `json:"queueing"`            // T_q, the mean seconds a task waits; Sparrow's is not the paper's
	Simulated    *ModelSimulated `json:"simulated,omitempty"` // the same, simulated
}

// ModelSimulated is a point as the simulator measures it.
type ModelSimulated struct {
	Unqueued    measure.Number `json:"unqueued"`      // share of jobs that no queueing delayed
	NoTaskWaits measure.Number `json:"no_task_waits"` // share of jobs without a task that waited
	Queueing    measure.Number `json:"queueing"`      // seconds, without the time of messages
	Workers     int            `json:"workers"`       // of the cluster
	Jobs        int            `json:"jobs"`          // that were counted: the first fifth finds an emptier cluster
}

// Check returns why the model cannot be computed.
func (m *Model) Check() error {
	points := (len(m.GroupSizes) + 1) * len(m.Loads)
	switch {
	case len(m.GroupSizes) == 0 || len(m.Loads) == 0 || points > MaxModelPoints:
		return fmt.Errorf("%d group sizes at %d loads; nothing was computed; use at least one of each, and at most %d points", len(m.GroupSizes), len(m.Loads), MaxModelPoints)
	case m.Tasks < 1 || m.Tasks > 100_000:
		return fmt.Errorf("a fan-out of %d tasks is outside 1 to 100000; nothing was computed", m.Tasks)
	case m.MeanTask < time.Microsecond || m.MeanTask > 1000*time.Hour:
		return fmt.Errorf("a mean task of %v is outside 1us to 1000h; nothing was computed", m.MeanTask)
	case m.Delay < 0 || m.Delay > time.Hour:
		return fmt.Errorf("a delay of %v is outside 0s to 1h; nothing was computed", m.Delay)
	case m.Workers < 1 || m.Workers > MaxModelWorkers:
		return fmt.Errorf("%d workers are outside 1 to %d; nothing was computed", m.Workers, MaxModelWorkers)
	case m.Jobs != 0 && (m.Jobs < minModelJobs || m.Jobs > MaxModelTasks/m.Tasks):
		return fmt.Errorf("%d simulated jobs of %d tasks are outside %d to %d (at most %d tasks in all); nothing was computed; 0 simulates none", m.Jobs, m.Tasks, minModelJobs, MaxModelTasks/m.Tasks, MaxModelTasks)
	}
	for _, rho := range m.Loads {
		if !(rho > 0 && rho < 1) {
			return fmt.Errorf("the load %v is not between 0 and 1: queues would grow without end; nothing was computed", rho)
		}
	}
	for _, n := range m.GroupSizes {
		if n < 1 || n > MaxModelWorkers {
			return fmt.Errorf("a group of %d workers is outside 1 to %d; nothing was computed", n, MaxModelWorkers)
		}
		if m.Jobs > 0 && n > m.Workers {
			return fmt.Errorf("a group of %d workers is more than the %d simulated workers; nothing was computed; simulate more", n, m.Workers)
		}
	}
	return nil
}

// Points computes all points, load by load: Sparrow's and then Pigeon's by group
// size. If the model has jobs, it also simulates the points, on all processors.
func (m *Model) Points(ctx context.Context, notify func(Progress)) ([]ModelPoint, error) {
	points := m.computed()
	if m.Jobs == 0 {
		return points, nil
	}
	err := experiment.InParallel(ctx, len(points),
		func(ctx context.Context, i int) (*ModelSimulated, error) { return m.simulate(ctx, &points[i]) },
		func(i int, s *ModelSimulated) error {
			points[i].Simulated = s
			notify(Progress{Done: i + 1, All: len(points), What: points[i].name()})
			return nil
		})
	return points, err
}

func (p *ModelPoint) name() string {
	if p.Group == 0 {
		return fmt.Sprintf("%s, load %g", p.Policy, p.Load)
	}
	return fmt.Sprintf("%s, groups of %d, load %g", p.Policy, p.Group, p.Load)
}

func (m *Model) computed() (points []ModelPoint) {
	for _, rho := range m.Loads {
		points = append(points, ModelPoint{
			Policy: "sparrow", Load: rho, Tasks: m.Tasks,
			Unqueued:     measure.Missing(),
			NoTaskWaits:  measure.Number(model.SparrowJobServedAtOnce(rho, m.Tasks)),
			TaskUnqueued: measure.Number(model.SparrowTaskServedAtOnce(rho, m.Tasks)),
			Queueing:     measure.Number(model.SparrowQueueingTime(rho, m.Tasks, m.MeanTask.Seconds())),
		})
		for _, n := range m.GroupSizes {
			points = append(points, ModelPoint{
				Policy: "pigeon", Group: n, Load: rho, Tasks: m.Tasks,
				Unqueued:     measure.Number(model.JobServedAtOnceExponential(n, rho)),
				NoTaskWaits:  measure.Number(model.JobServedAtOnceEqual(n, rho, m.Tasks)),
				TaskUnqueued: measure.Number(model.TaskServedAtOnce(n, rho)),
				Queueing:     measure.Number(model.QueueingTime(n, rho, m.MeanTask.Seconds())),
			})
		}
	}
	return points
}

// simulate runs one point. A job counts as served without queueing when it took
// no longer than its longest task and its messages.
func (m *Model) simulate(ctx context.Context, p *ModelPoint) (*ModelSimulated, error) {
	// The messages before a task starts; another one follows each: its
	// report. Pigeon: tasks, launch. Sparrow: probe, request, task.
	before, groups := 2, []int{m.Workers}
	if p.Group == 0 {
		before = 3
	} else {
		groups = experiment.EvenGroups(m.Workers/p.Group*p.Group, m.Workers/p.Group)
	}
	d := experiment.Description{
		Trace:    fmt.Sprintf("gen:exp,jobs=%d,load=%v,fanout=%d,mean=%v,seed=%d", m.Jobs, p.Load, m.Tasks, m.MeanTask, m.Seed),
		Policies: []string{p.Policy}, Groups: groups, Frontends: 10, Cutoff: 1000 * time.Hour, Seed: m.Seed, Seeds: 1,
	}
	runs, err := d.Runs()
	if err != nil {
		return nil, err
	}
	w, err := runs[0].Workload()
	if err != nil {
		return nil, err
	}
	out, err := runs[0].Simulate(ctx, w, experiment.SimOptions{Delay: m.Delay})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name(), err)
	}
	return m.counted(w, out, before, d.Workers()), nil
}

// counted reads the quantities of the model from a run.
func (m *Model) counted(w *workload.Workload, out *experiment.Outcome, before, workers int) *ModelSimulated {
	delay, first := m.Delay.Nanoseconds(), m.Jobs/5
	unqueued, noTaskWaits, queueing, jobs := 0, 0, 0.0, m.Jobs-first
	for i := first; i < m.Jobs; i++ {
		job, waits := &out.Jobs[i], false
		if job.End-job.Arrival <= w.Jobs[i].Longest()+int64(before+1)*delay+1000 {
			unqueued++
		}
		for _, start := range out.Queueing[i*m.Tasks : (i+1)*m.Tasks] {
			wait := start - int64(before)*delay
			waits = waits || wait > 1000
			queueing += float64(wait) / 1e9
		}
		if !waits {
			noTaskWaits++
		}
	}
	return &ModelSimulated{
		Unqueued: measure.Number(float64(unqueued) / float64(jobs)), NoTaskWaits: measure.Number(float64(noTaskWaits) / float64(jobs)),
		Queueing: measure.Number(queueing / float64(jobs*m.Tasks)), Workers: workers, Jobs: jobs,
	}
}
