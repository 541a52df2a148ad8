package compare

import (
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Comparison is the outcome of a plan.
type Comparison struct {
	Manifest Manifest
	Cells    []CellResult
}

// Manifest records how a comparison was made.
type Manifest struct {
	// Command repeats it.
	Command []string `json:"command"`
	// Program is the version of this program.
	Program  string          `json:"program"`
	Machine  measure.Machine `json:"machine"`
	Policies []string        `json:"policies"`
	Workers  int             `json:"workers"`
	Groups   []int           `json:"groups"`
	Reserved float64         `json:"reserved"`
	Cutoff   float64         `json:"cutoff"` // s
	Weight   int             `json:"weight"`
	Delay    float64         `json:"delay"` // s, simulated
	Seed     uint64          `json:"seed"`
	Seeds    int             `json:"seeds"`
	Resample int             `json:"resample,omitempty"`
	// WrongClass and Noise are the mistakes of declarations and estimates.
	WrongClass float64 `json:"wrong_class,omitempty"`
	Noise      float64 `json:"noise,omitempty"`
	// Undeclared is the share of jobs that declare nothing.
	Undeclared float64 `json:"undeclared,omitempty"`
	// Owners are those to which jobs were assigned.
	Owners *workload.Owners `json:"owners,omitempty"`
	// Wide and Gangs are the demands that jobs were given, NodeSlots the slots of nodes.
	Wide      *workload.Wide `json:"wide,omitempty"`
	Gangs     *workload.Wide `json:"gangs,omitempty"`
	NodeSlots []int          `json:"node_slots,omitempty"`
	// Names are those of recurring works; Learned: frontends learned classes by them.
	Names   *workload.Names `json:"names,omitempty"`
	Learned bool            `json:"learned,omitempty"`
	// Speedup, Isolation and LivePolicies are of the live runs, if there were any.
	Speedup      float64  `json:"speedup,omitempty"`
	Isolation    string   `json:"isolation,omitempty"`
	LivePolicies []string `json:"live_policies,omitempty"`
	Cells        []Cell   `json:"cells"`
}

// CellResult is the measurement of one workload at one load.
type CellResult struct {
	Cell     Cell
	Policies []PolicyResult // in the order of the plan
	// Longest and Clairvoyant hold a distribution by class for each seed's workload; they belong to
	// Results of the same seed.
	Longest, Clairvoyant []measure.ByClass

	references *references // of the first seed
}

// PolicyResult is one policy of a cell.
type PolicyResult struct {
	Policy  string
	Results []measure.Result // by seed
	Live    []measure.Result // all with the first seed
	State   *measure.State   // of the first seed

	curves     [2][]float64 // completion times (s) of all seeds, by class
	liveCurves [2][]float64
	timeline   *Timeline // of the first seed
}
