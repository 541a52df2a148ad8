package fairness

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Result is what "pigeon-bench fair" prints. Figures of several runs are medians.
type Result struct {
	Bench        string           `json:"bench"`         // fair
	Policy       string           `json:"policy"`        // of the cluster
	Slots        int              `json:"slots"`         // of the cluster
	Runs         int              `json:"runs"`          // of every measurement, but one of flood_one_owner
	Window       measure.Number   `json:"window"`        // seconds in which shares were measured
	Flood        measure.Number   `json:"flood"`         // seconds for two tasks of 100 ms beside 1,200 of another owner
	FloodWorst   measure.Number   `json:"flood_worst"`   // the slowest of the runs
	FloodOne     measure.Number   `json:"flood_one"`     // the same where both are of one owner
	Jain         measure.Number   `json:"jain"`          // Jain's index of the slot-seconds of four equal owners with tasks of 20, 40, 80 and 160 ms
	JainWorst    measure.Number   `json:"jain_worst"`    // the least of the runs
	Weights      []measure.Number `json:"weights"`       // parts of the slot-seconds of three owners of the weights 1, 2 and 4 with tasks of 50 ms
	WeightsWorst measure.Number   `json:"weights_worst"` // largest difference of a part from its share, over the share, of all runs
	Idle         measure.Number   `json:"idle"`          // part of the slots that ran nothing meanwhile, the most of all runs
	Machine      measure.Machine  `json:"machine"`       // where it was measured
	LoadAverage  string           `json:"load_average"`  // of the machine, over 1, 5 and 15 minutes, at the end
}

// Options of Measure.
type Options struct {
	Policy   string
	Runs     int
	Window   time.Duration
	Progress func(what string)
}

// taskTime is the duration of the tasks of the flood and of the small job.
const taskTime = 100 * time.Millisecond

// Measure measures everything, each run on its own cluster.
func Measure(ctx context.Context, o Options) (*Result, error) {
	r := &Result{Bench: "fair", Policy: o.Policy, Slots: Slots, Runs: o.Runs, Window: measure.Number(o.Window.Seconds())}
	flood := FloodOptions{Policy: o.Policy, Flood: 1200, Tasks: 2, Duration: taskTime}
	alone := flood
	alone.OneOwner = true
	o.Progress("a flood, one owner")
	one, err := Flood(ctx, alone)
	if err != nil {
		return nil, err
	}
	r.FloodOne = measure.Number(one.Seconds)
	var floods, jains []float64
	var weights [3][]float64
	for range o.Runs {
		o.Progress("a flood of another owner")
		f, err := Flood(ctx, flood)
		if err != nil {
			return nil, err
		}
		floods = append(floods, f.Seconds)
		o.Progress("equal owners")
		equal, err := Shares(ctx, SharesOptions{Policy: o.Policy, Window: o.Window, Loads: o.equal()})
		if err != nil {
			return nil, err
		}
		jains = append(jains, equal.Jain)
		o.Progress("weights 1, 2 and 4")
		weighted, err := Shares(ctx, SharesOptions{Policy: o.Policy, Window: o.Window, Loads: o.weighted()})
		if err != nil {
			return nil, err
		}
		for i := range weights {
			weights[i] = append(weights[i], weighted.Owners[i].Part)
		}
		r.WeightsWorst = max(r.WeightsWorst, measure.Number(weighted.Worst))
		r.Idle = max(r.Idle, measure.Number(equal.Idle), measure.Number(weighted.Idle))
	}
	r.Flood, r.FloodWorst = median(floods), measure.Number(slices.Max(floods))
	r.Jain, r.JainWorst = median(jains), measure.Number(slices.Min(jains))
	for i := range weights {
		r.Weights = append(r.Weights, median(weights[i]))
	}
	r.Machine, r.LoadAverage = measure.ThisMachine(), loadAverage()
	return r, nil
}

// equal returns four equal owners with tasks of different lengths.
func (o *Options) equal() (list []Load) {
	for i, name := range []string{"a", "b", "c", "d"} {
		list = append(list, o.load(name, 1, 0.25, 20*time.Millisecond<<i))
	}
	return list
}

// weighted returns owners of the weights 1, 2 and 4.
func (o *Options) weighted() (list []Load) {
	for i, name := range []string{"one", "two", "four"} {
		weight := float64(int(1) << i)
		list = append(list, o.load(name, weight, weight/7, 50*time.Millisecond))
	}
	return list
}

// load returns an owner with twice the work that its share of the slots can do in the
// window, and what all can do before it.
func (o *Options) load(owner string, weight, share float64, d time.Duration) Load {
	return Load{Owner: owner, Weight: weight, Tasks: 2*int(share*Slots*o.Window.Seconds()/d.Seconds()) + 2*warmUp, Duration: d}
}

// median returns the middle value, or the mean of the two in the middle.
func median(values []float64) measure.Number {
	v := slices.Sorted(slices.Values(values))
	return measure.Number((v[(len(v)-1)/2] + v[len(v)/2]) / 2)
}

// loadAverage returns how busy the machine is, "unknown" where the system does not report it.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if list := strings.Fields(string(data)); err == nil && len(list) >= 3 {
		return strings.Join(list[:3], " ")
	}
	return "unknown"
}
