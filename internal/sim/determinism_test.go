package sim_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/workload"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

// drawn is a workload of both classes made of whole numbers only, so that it is
// the same on every machine.
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

// actions runs it on unequal groups and gives all that the cores did.
func actions(t *testing.T, spec string, seed uint64) []byte {
	t.Helper()
	p, params, err := policy.Configure(spec, sched.Params{Cutoff: sched.Second, Weight: 5, Reserved: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	run(t, drawn(), sim.Config{
		Policy: p, Params: params, Groups: []int{12, 10, 8}, Frontends: 4, Delay: 500 * sched.Microsecond, Seed: seed, Actions: &b,
	})
	return b.Bytes()
}

// drawless are the policies that leave nothing to chance: a central scheduler
// sees all workers.
var drawless = []string{"fifo", "priority", "kairos"}

// The same seed gives the same actions, byte for byte; another seed gives others
// where a policy draws.
func TestSameSeedSameActions(t *testing.T) {
	for _, name := range policy.Names() {
		first := actions(t, name, 1)
		for range 3 {
			if !bytes.Equal(first, actions(t, name, 1)) {
				t.Fatalf("%s: the same seed gave other actions", name)
			}
		}
		if same := bytes.Equal(first, actions(t, name, 2)); same != slices.Contains(drawless, name) {
			t.Errorf("%s: another seed gave the same actions: %v", name, same)
		}
	}
}

// The actions are the same on every machine: this is their SHA-256. It changes when
// a decision, its order, or the text form of an action changes, and then only.
func TestSameActionsOnEveryMachine(t *testing.T) {
	for name, want := range map[string]string{
		"pigeon":              "e9a04982d936e63271a480257f27238fb38815d3c3deb5c51b14ec694846499d",
		"pigeon-sort":         "8809f1f38d53482636294f35fd84ba2633f29aed1559a2114355c7eb7ed3c1ac",
		"pigeon-x":            "bc25336dee3d6189cd0ed44777e2da88b83b00f83a1530305b09c1a69f95d306",
		"pigeon-sort:tail=no": "a5972200f348319c1c1e2eb3fdf9409563a27397ad07c4317feb15afc29ba7a7",
		"pigeon-x:tail=no":    "143dd79aec85e48ba74b4090af41b67d0edd72cfbe292be92af781320a5eb219",
		"peacock":             "e2a8c86f4e0dd9cb5dc8c298a455554ab90c98b5e61f1871bec16d24b625ef5f",
		"kairos":              "782e21e2fb26ed7ad1b5bebbdcc7b2d07b30cadcac6e48d9c2334207f4670395",
	} {
		sum := sha256.Sum256(actions(t, name, 1))
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: the actions have the sum %s, want %s", name, got, want)
		}
	}
}
