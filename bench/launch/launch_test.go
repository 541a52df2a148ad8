package launch_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/cluster/clustertest"
	"github.com/pigeon-sched/pigeon/internal/api"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

func start(t *testing.T, history bool) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(t.Context(), cluster.Spec{Groups: []int{1, 1}, Slots: 3, Frontends: 2, History: history})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestLatency: the parts of a task's way are in the order in which they happen.
func TestLatency(t *testing.T) {
	for _, backend := range []api.Backend{api.BackendSleep, api.BackendExec} {
		t.Run(string(backend), func(t *testing.T) { latency(t, backend) })
	}
}

func latency(t *testing.T, backend api.Backend) {
	c := start(t, true)
	calls := 0
	r, err := launch.Latency(t.Context(), launch.LatencyOptions{Cluster: c, Frontend: c.Frontends()[1], Backend: backend, Samples: 30, Workers: 6, Progress: func(int) { calls++ }})
	if err != nil {
		t.Fatal(err)
	}
	whole := r.SubmitToTold.P50
	if r.Samples != 30 || r.Backend != string(backend) || calls < 30 || !(r.SubmitToStart.P50 > 0 && r.SubmitToStart.P50 < whole) || !(r.EndToTold.P50 > 0 && r.EndToTold.P50 < whole) || !(r.SubmitToAnswer.P50 > 0) || r.RSSMax == 0 {
		t.Errorf("%+v", r)
	}
}

func TestLatencyOfARunningCluster(t *testing.T) {
	c := start(t, false)
	o := launch.LatencyOptions{Frontend: c.Frontends()[0], Backend: api.BackendSleep, Samples: 5, Progress: func(int) {}}
	r, err := launch.Latency(t.Context(), o)
	if err != nil || !math.IsNaN(float64(r.SubmitToStart.P50)) || r.SubmitToTold.P50 <= 0 {
		t.Errorf("%+v %v", r, err)
	}
	o.Cluster = c
	if _, err := launch.Latency(t.Context(), o); err == nil || !strings.Contains(err.Error(), "histories") {
		t.Errorf("without histories: %v", err)
	}
}

// TestRate: 101 tasks of 20 ms on 6 slots take 17 rounds of 20 ms at least.
func TestRate(t *testing.T) {
	c := start(t, false)
	o := launch.RateOptions{Tasks: 101, Duration: 20 * time.Millisecond, Backend: api.BackendSleep, Workers: 6, JobTasks: 10, InFlight: 4}
	r, err := launch.Rate(t.Context(), c.Frontends(), o, c.Usage)
	if err != nil {
		t.Fatal(err)
	}
	if r.Total < 17*0.02 || r.Failed != 0 || r.Utilization <= 0 || r.Utilization > 1 || r.OverheadPerTask <= 0 || r.CPUPerTask <= 0 || !r.Shared || !math.IsNaN(float64(r.GeneratorCPU)) {
		t.Errorf("%+v", r)
	}
	if ideal := float64(r.Utilization * r.Total); math.Abs(ideal-101*0.02/6) > 1e-9 {
		t.Errorf("ideal %v", ideal)
	}
	// A second one on the same cluster has its own jobs; what the daemons used is
	// not known now.
	o.Tasks, o.Duration = 20, 0
	if r, err = launch.Rate(t.Context(), c.Frontends(), o, nil); err != nil || !math.IsNaN(float64(r.CPUPerTask)) || r.Rate <= 0 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestRateRunsProcesses(t *testing.T) {
	c := start(t, false)
	o := launch.RateOptions{Tasks: 3, Backend: api.BackendExec, Workers: 6, JobTasks: 2, InFlight: 2}
	if r, err := launch.Rate(t.Context(), c.Frontends(), o, nil); err != nil || r.Failed != 0 || r.Backend != "exec" {
		t.Errorf("%+v %v", r, err)
	}
}

func TestMeasurementsEnd(t *testing.T) {
	c := start(t, true)
	ctx, stop := context.WithCancel(t.Context())
	o := launch.RateOptions{Tasks: 1000, Duration: time.Second, Backend: api.BackendSleep, Workers: 6, JobTasks: 10, InFlight: 4}
	done := make(chan error)
	go func() {
		_, err := launch.Rate(ctx, c.Frontends(), o, c.Usage)
		done <- err
	}()
	stop()
	if err := <-done; err == nil {
		t.Error("a measurement that was ended has a result")
	}
	if _, err := launch.Latency(ctx, launch.LatencyOptions{Cluster: c, Frontend: c.Frontends()[0], Backend: api.BackendSleep, Samples: 5, Progress: func(int) {}}); err == nil {
		t.Error("a measurement that was ended has a result")
	}
}
