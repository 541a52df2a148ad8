package policy_test

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A power of the age stands for the order by age; asking for both orders is refused,
// in whichever order they are asked for.
func TestTailOrAging(t *testing.T) {
	for spec, fault := range map[string]string{
		"pigeon-x":                     "",
		"pigeon-x:tail=yes":            "",
		"pigeon-x:aging=3":             "",
		"pigeon-x:tail=no,aging=3":     "",
		"pigeon-x:aging=3,tail=no":     "",
		"pigeon-x:tail=yes,aging=3":    "leave tail=yes or aging out",
		"pigeon-sort:aging=0,tail=yes": "leave tail=yes or aging out",
		"pigeon-sort:tail=perhaps":     "use yes or no",
		"pigeon-sort:aging=11":         "from 0 to 10",
	} {
		_, _, err := policy.Configure(spec, sched.Params{Cutoff: sched.Second})
		if (err == nil) != (fault == "") || (err != nil && !strings.Contains(err.Error(), fault)) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// A distributor sends the number of tasks of a job only to masters that order by the tail.
func TestTotalIsSentForTheTail(t *testing.T) {
	for spec, want := range map[string]int32{
		"pigeon": 0, "kairos": 0, "pigeon-sort": 5, "pigeon-x": 5, "pigeon-x:tail=no": 0, "pigeon-x:aging=0": 0, "pigeon-sort:aging=3": 0,
	} {
		p, params, err := policy.Configure(spec, sched.Params{Cutoff: sched.Second})
		if err != nil {
			t.Fatal(err)
		}
		d := p.NewDistributor(sched.DistributorConfig{Params: params})
		var out sched.Actions
		for _, m := range []sched.Message{
			{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master}, Serves: []string{""}},
			{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master, ID: 1}, Serves: []string{""}},
			{Kind: sched.Submit, Job: sched.JobID{Lo: 1}, Count: 5},
		} {
			d.Step(0, sched.Addr{}, &m, &out)
		}
		carrying := 0
		for _, a := range out.List() {
			if a.Msg.Kind == sched.Tasks {
				carrying++
				if a.Msg.Total != want {
					t.Errorf("%s: a message carries a total of %d, want %d", spec, a.Msg.Total, want)
				}
			}
		}
		if carrying == 0 {
			t.Errorf("%s: no tasks were sent: the test shows little", spec)
		}
	}
}
