package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// LatencyResult is what "pigeon-bench latency" prints; seconds.
type LatencyResult struct {
	Bench          string               `json:"bench"`            // latency
	Samples        int                  `json:"samples"`          // tasks that were measured
	Backend        string               `json:"backend"`          // sleep or exec
	Workers        int                  `json:"workers"`          // slots of the cluster
	SubmitToStart  measure.Distribution `json:"submit_to_start"`  // from the call that submits a job of one task to the start of the task in its backend
	SubmitToAnswer measure.Distribution `json:"submit_to_answer"` // the duration of that call, which returns when the job is on the disk
	EndToTold      measure.Distribution `json:"end_to_told"`      // from the end of the task in its backend to the answer of the client's long poll; the result is on the disk by then
	SubmitToTold   measure.Distribution `json:"submit_to_told"`   // from the call to the answer of the long poll, less the time the task sleeps
	RSSMax         int64                `json:"rss_max"`          // peak resident memory, in bytes
}

// Settings of Latency.
const (
	// taskTime is long enough for the client to wait when the task ends.
	taskTime = 5 * time.Millisecond
	// warmUp tasks are not counted: they open the connections.
	warmUp = 20
	// idleFor is the pause between two tasks.
	idleFor = 2 * time.Millisecond
)

// LatencyOptions describe where latency is measured.
type LatencyOptions struct {
	// Cluster was started for the measurement, writes histories and is closed at the end; nil
	// for the frontend of a running one, whose starts and ends are not known.
	Cluster  *cluster.Cluster
	Frontend string
	Backend  api.Backend // sleep or exec
	Samples  int
	Workers  int
	Progress func(done int)
}

// Latency submits single tasks to the frontend of an idle cluster, one after
// another.
func Latency(ctx context.Context, o LatencyOptions) (*LatencyResult, error) {
	if o.Cluster != nil && o.Cluster.Histories() == nil {
		return nil, errors.New("the latency on a started cluster is read from histories, and this one writes none")
	}
	var security client.Security
	var err error
	if o.Cluster != nil {
		if security, err = o.Cluster.Security(); err != nil {
			return nil, err
		}
	}
	pool, err := client.New(client.Options{Name: "frontend", Address: o.Frontend, Security: security})
	if err != nil {
		return nil, err
	}
	defer pool.Close() //nolint:errcheck // it only closes connections
	l := &latency{
		scheduler: wire.NewSchedulerClient(pool), backend: o.Backend, base: strconv.FormatInt(time.Now().UnixNano(), 36) + "-",
		begun: make([]time.Time, o.Samples), told: make([]time.Time, o.Samples),
	}
	for k := range warmUp + o.Samples {
		if err := l.one(ctx, k-warmUp); err != nil {
			return nil, err
		}
		o.Progress(k + 1 - warmUp)
	}
	r := &LatencyResult{Bench: "latency", Samples: o.Samples, Backend: string(o.Backend), Workers: o.Workers}
	r.SubmitToAnswer, r.SubmitToTold = measure.Describe(l.answers, 1e-9), measure.Describe(l.wholes, 1e-9)
	r.SubmitToStart, r.EndToTold = measure.Describe([]int64{}, 1), measure.Describe([]int64{}, 1)
	if o.Cluster == nil {
		return r, nil
	}
	u, err := o.Cluster.Usage()
	if err != nil {
		return nil, err
	}
	r.RSSMax = u.RSSMax
	return r, o.Cluster.Finish(func() error { return l.read(o.Cluster.Histories(), r) })
}

type latency struct {
	scheduler *wire.SchedulerClient
	backend   api.Backend
	base      string      // of keys, so that each measurement has its own
	begun     []time.Time // by sample
	told      []time.Time
	answers   []int64 // ns
	wholes    []int64
}

func (l *latency) one(ctx context.Context, sample int) error {
	task := api.Task{Payload: payload(l.backend, taskTime)}
	q := &api.Request{Key: l.base + strconv.Itoa(sample), Backend: l.backend, Class: "short", Tasks: []api.Task{task}}
	begun := time.Now()
	id, _, err := l.scheduler.Submit(ctx, q)
	if err != nil {
		return err
	}
	answered := time.Now()
	s, err := l.scheduler.Wait(ctx, id, time.Minute)
	told := time.Now()
	if err != nil {
		return err
	}
	if s.State != api.StateCompleted {
		return fmt.Errorf("job %s is %s after a minute: %s; the measurement was ended; is the cluster idle?", id, s.State, s.Reason)
	}
	if sample >= 0 {
		l.begun[sample], l.told[sample] = begun, told
		l.answers = append(l.answers, answered.Sub(begun).Nanoseconds())
		l.wholes = append(l.wholes, (told.Sub(begun) - taskTime).Nanoseconds())
	}
	time.Sleep(idleFor)
	return nil
}

// read reads the starts and ends of tasks from the histories.
func (l *latency) read(files []string, r *LatencyResult) error {
	var starts, ends []int64
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		starts, ends, err = l.readOne(json.NewDecoder(f), starts, ends)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("history %s: %w", path, err)
		}
	}
	if len(starts) != r.Samples || len(ends) != r.Samples {
		return fmt.Errorf("the histories have %d starts and %d ends of %d tasks", len(starts), len(ends), r.Samples)
	}
	r.SubmitToStart, r.EndToTold = measure.Describe(starts, 1e-9), measure.Describe(ends, 1e-9)
	return nil
}

func (l *latency) readOne(lines *json.Decoder, starts, ends []int64) (_, _ []int64, err error) {
	for {
		var e struct {
			Job, Event string
			Clock      int64
		}
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return starts, ends, nil
		} else if err != nil {
			return starts, ends, err
		}
		sample, err := strconv.Atoi(strings.TrimPrefix(e.Job, l.base))
		if err != nil || sample < 0 || e.Clock == 0 {
			continue // a warm-up, or not of a task
		}
		switch e.Event {
		case measure.Started:
			starts = append(starts, e.Clock-l.begun[sample].UnixNano())
		case measure.Reported:
			ends = append(ends, l.told[sample].UnixNano()-e.Clock)
		}
	}
}
