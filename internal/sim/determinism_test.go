package sim_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// drawn returns a workload of both classes. It is made of integers only, so that it is the
// same on every machine.
func drawn() *workload.Workload {
	r := sched.Rand(5, 0)
	w := &workload.Workload{Name: "drawn"}
	arrival := int64(0)
	for line := range 300 {
		long := r.IntN(10) == 0
		longest := int64(400 * sched.Millisecond)
		if long {
			longest = int64(20 * sched.Second)
		}
		j := workload.Job{Line: line + 1, Arrival: arrival, DeclaredLong: long, TrueLong: long, Durations: make([]int64, 1+r.IntN(9))}
		for i := range j.Durations {
			j.Durations[i] = r.Int64N(longest)
		}
		j.Estimate = j.Work() / int64(len(j.Durations))
		w.Jobs = append(w.Jobs, j)
		arrival += r.Int64N(int64(400 * sched.Millisecond))
	}
	return w
}

// actions runs the drawn workload on unequal groups and returns the actions of all cores.
func actions(t *testing.T, spec string, seed uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	run(t, drawn(), under(t, spec, sim.Config{
		Params: sched.Params{Cutoff: sched.Second, Weight: 5, Reserved: 0.1},
		Groups: []int{12, 10, 8}, Frontends: 4, Delay: 500 * sched.Microsecond, Seed: seed, Actions: &b,
	}))
	return b.Bytes()
}

// drawless lists the policies that draw nothing: their central scheduler knows all
// workers.
var drawless = []string{"fifo", "priority", "static", "kairos"}

// The same seed produces the same actions, byte for byte; another seed produces others if
// the policy draws.
func TestSameSeedSameActions(t *testing.T) {
	for _, name := range policy.Names() {
		first := actions(t, name, 1)
		for range 3 {
			if !bytes.Equal(first, actions(t, name, 1)) {
				t.Fatalf("%s: the same seed produced other actions", name)
			}
		}
		switch same := bytes.Equal(first, actions(t, name, 2)); {
		case same && !slices.Contains(drawless, name):
			t.Errorf("%s: another seed produced the same actions; if the policy draws nothing, add it to drawless, else its draws do not come from the seed", name)
		case !same && slices.Contains(drawless, name):
			t.Errorf("%s: another seed produced other actions, and the policy is listed as one that draws nothing; remove it from drawless, or what draws", name)
		}
	}
}

// The actions are the same on every machine: this is their SHA-256. It changes only when a
// decision, its order, or the text form of an action changes.
func TestSameActionsOnEveryMachine(t *testing.T) {
	sums := map[string]string{
		"static":              "910910a755b195a7b861fa8dc26f523d1f861d3a3f051e20dc0a24a207451af3",
		"random":              "0bb195ad62d68e365af49127889dacc4267ccaa49bb766488a6d86ddd5bc94f7",
		"pigeon":              "e9a04982d936e63271a480257f27238fb38815d3c3deb5c51b14ec694846499d",
		"pigeon-sort":         "8809f1f38d53482636294f35fd84ba2633f29aed1559a2114355c7eb7ed3c1ac",
		"pigeon-x":            "bc25336dee3d6189cd0ed44777e2da88b83b00f83a1530305b09c1a69f95d306",
		"pigeon-sort:tail=no": "a5972200f348319c1c1e2eb3fdf9409563a27397ad07c4317feb15afc29ba7a7",
		"pigeon-x:tail=no":    "143dd79aec85e48ba74b4090af41b67d0edd72cfbe292be92af781320a5eb219",
		"sparrow":             "d51a9cadccdadb825a42cccd7f9414c7da8c0097df2e268700e86632e65e64c5",
		"hawk":                "163a32bd136630fc2204c49bb85b5a679cf1993732058075c4c873e9fda197aa",
		"eagle":               "77ea5ac4ae5e647b76da058e5b69e0f7ff178b4b6a9e6122bf02b4d889f0c47f",
		"fifo":                "0f4c839df0645de30039dd0bde7f3d897722ff48fcfbc5ac68e87cab2bb16fe3",
		"priority":            "ca3852e0a5e4a3508a797fb2c6ec3a8073f8e6007670287c4c3ff88ea82172b6",
		"peacock":             "ea03c5ed71d3f060f37379b3f46e16c8de13bc3fb778fc8c83a13e2a7915da55",
		"kairos":              "81f37779d2e84d9dbd0836cab3651c8a6088566f60862f11a34480c2aa33561d",
	}
	sum := func(name string) string {
		sum := sha256.Sum256(actions(t, name, 1))
		return hex.EncodeToString(sum[:])
	}
	for _, name := range policy.Names() {
		if sums[name] == "" {
			t.Errorf("the policy %s is not in sums; add %q: %q when its decisions are final", name, name, sum(name))
		}
	}
	for name, want := range sums {
		if got := sum(name); got != want {
			t.Errorf("%s: the actions have the sum %s, want %s; a decision, its order or the text form of an action has changed", name, got, want)
		}
	}
}
