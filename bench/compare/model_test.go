package compare

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

func smallModel() *Model {
	return &Model{GroupSizes: []int{20, 50}, Loads: []float64{0.7, 0.9}, Tasks: 10, MeanTask: 100 * time.Millisecond,
		Workers: 1000, Delay: 500 * time.Microsecond, Seed: 1}
}

func TestModelRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*Model)
		want  string
	}{
		"no size":         {func(m *Model) { m.GroupSizes = nil }, "0 group sizes"},
		"no load":         {func(m *Model) { m.Loads = nil }, "0 loads"},
		"too many points": {func(m *Model) { m.Loads = make([]float64, MaxModelPoints) }, "1000 points"},
		"load 1":          {func(m *Model) { m.Loads[0] = 1 }, "grow without end"},
		"load NaN":        {func(m *Model) { m.Loads[0] = math.NaN() }, "NaN"},
		"group 0":         {func(m *Model) { m.GroupSizes[0] = 0 }, "group of 0"},
		"no task":         {func(m *Model) { m.Tasks = 0 }, "0 tasks"},
		"no mean":         {func(m *Model) { m.MeanTask = 0 }, "mean task of 0s"},
		"delay":           {func(m *Model) { m.Delay = -1 }, "delay"},
		"no worker":       {func(m *Model) { m.Workers = 0 }, "0 workers"},
		"a large group":   {func(m *Model) { m.Jobs, m.Workers = 20, 40 }, "more than the 40"},
		"few jobs":        {func(m *Model) { m.Jobs = 3 }, "3 simulated jobs of 10 tasks are outside 20 to 1000000"},
		"jobs below 0":    {func(m *Model) { m.Jobs = -1 }, "-1 simulated jobs of 10 tasks are outside 20 to 1000000 (at most 10000000 tasks in all)"},
		"many tasks":      {func(m *Model) { m.Jobs = MaxModelTasks }, "outside 20 to 1000000"},
		"no number":       {func(m *Model) { m.Jobs = math.MaxInt }, "outside 20 to 1000000"},
	} {
		m := smallModel()
		tt.spoil(m)
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Check = %v, want %q in it", name, err, tt.want)
		}
	}
	if err := smallModel().Check(); err != nil {
		t.Error(err)
	}
}

// Formula and simulation agree where the formula covers what is simulated, and
// Sparrow's jobs wait where Pigeon's do not.
func TestModelBesideSimulation(t *testing.T) {
	m := smallModel()
	m.Loads, m.Jobs = []float64{0.7}, 10_000
	points, err := m.Points(t.Context(), func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(points) != 3 || points[0].Policy != "sparrow" || points[1].Group != 20 {
		t.Fatalf("%+v", points)
	}
	for _, p := range points[1:] {
		if math.Abs(float64(p.Unqueued-p.Simulated.Unqueued)) > 0.04 {
			t.Errorf("groups of %d: P_job(0) %.3f, simulated %.3f", p.Group, p.Unqueued, p.Simulated.Unqueued)
		}
	}
	if s := points[0].Simulated; !math.IsNaN(float64(points[0].Unqueued)) || s.Queueing < 10*points[2].Simulated.Queueing || s.Unqueued > points[2].Simulated.Unqueued {
		t.Errorf("sparrow: %+v %+v", points[0], s)
	}
	// A worker's round trips are load to Sparrow: 2 delays for each of 2 probes. Most
	// of their cost is in that; bench/model has the formula without delays.
	m.Loads[0] += 0.7 * 4 * m.Delay.Seconds() / m.MeanTask.Seconds()
	if got, want := float64(points[0].Simulated.Queueing), float64(m.computed()[0].Queueing); math.Abs(got-want) > 0.2*want {
		t.Errorf("sparrow: T_q %.2f ms, simulated %.2f ms", 1e3*want, 1e3*got)
	}
	m.Loads[0] = 0.7
	if d := points[0].NoTaskWaits - points[0].Simulated.NoTaskWaits; math.Abs(float64(d)) > 0.1 {
		t.Errorf("sparrow: no task waits %.3f, simulated %.3f", points[0].NoTaskWaits, points[0].Simulated.NoTaskWaits)
	}
	dir := t.TempDir()
	three, four := filepath.Join(dir, "three"), filepath.Join(dir, "four")
	if err := m.ModelFigures(points, three, four); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{three, four} {
		if svg, err := os.ReadFile(base + ".svg"); err != nil || !strings.Contains(string(svg), "simulated") {
			t.Errorf("%s: %v", base, err)
		}
	}
}

func TestModelOfOneSizeHasNoFigure(t *testing.T) {
	m := smallModel()
	m.GroupSizes = m.GroupSizes[:1]
	points, err := m.Points(t.Context(), nil)
	if err != nil || points[1].Simulated != nil || points[1].Queueing == measure.Missing() {
		t.Fatalf("%+v, %v", points, err)
	}
	if err := m.ModelFigures(points, "a", "b"); err == nil || !strings.Contains(err.Error(), "two sizes") {
		t.Errorf("ModelFigures = %v", err)
	}
}
