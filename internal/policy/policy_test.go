package policy_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var given = sched.Params{Cutoff: sched.Second, Weight: 7, Reserved: 0.2}

// Every policy without a single master has groups.
func TestGrouped(t *testing.T) {
	grouped := policy.Grouped()
	for _, name := range policy.Names() {
		p, _, err := policy.Configure(name, given)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := slices.Contains(grouped, name), p.NewMaster != nil && !p.Central; got != want {
			t.Errorf("%s is grouped: %v, want %v", name, got, want)
		}
	}
	if !slices.Contains(grouped, "pigeon") || slices.Contains(grouped, "fifo") {
		t.Errorf("grouped are %q; want pigeon among them, and not fifo", grouped)
	}
}

// Every policy is in the tables from which users choose one.
func TestPoliciesAreDocumented(t *testing.T) {
	for page, row := range map[string]string{
		"docs/policies.md":  "\n| [%s](#",
		"configs/README.md": "`%s`",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range policy.Names() {
			if !strings.Contains(string(text), fmt.Sprintf(row, name)) {
				t.Errorf("the table of %s lacks the policy %s", page, name)
			}
		}
	}
}

func TestConfigure(t *testing.T) {
	for _, c := range []struct {
		spec string
		want sched.Params
	}{
		{"pigeon", given},
		{"pigeon:", given},
		{"pigeon:weight=20", sched.Params{Cutoff: sched.Second, Weight: 20, Reserved: 0.2}},
		{"pigeon:weight=0,reserved=0", sched.Params{Cutoff: sched.Second}},
		{"pigeon:weight=20,reserved=0.1", sched.Params{Cutoff: sched.Second, Weight: 20, Reserved: 0.1}},
	} {
		p, got, err := policy.Configure(c.spec, given)
		if err != nil || got != c.want || p.Name != "pigeon" || p.NewDistributor == nil || p.NewMaster == nil || p.NewWorker == nil {
			t.Errorf("%s returns %s with %+v, %v; want %+v", c.spec, p.Name, got, err, c.want)
		}
	}
}

// docs/policies.md, settings: a comparison may state a default.
func TestDefaultsMayBeStated(t *testing.T) {
	if _, _, err := policy.Configure("pigeon-x:patience=0s,canary=yes", given); err != nil {
		t.Error(err)
	}
}

// Every refusal names the fault and what to write instead.
func TestConfigureRefuses(t *testing.T) {
	for _, c := range []struct{ spec, fault, next string }{
		{"pidgeon", `"pidgeon" is unknown`, `did you mean "pigeon"`},
		{"", `"" is unknown`, "There are pigeon"},
		{"Pigeon", `"Pigeon" is unknown`, `did you mean "pigeon"`},
		{"pigeon:wieght=3", `no parameter "wieght"`, `did you mean "weight"`},
		{"pigeon:weight", `"weight" has no value`, "weight=VALUE"},
		{"pigeon:weight=", `weight=""`, "0 (infinite"},
		{"pigeon:weight=-1", `weight="-1"`, "or more"},
		{"pigeon:weight=2.5", `weight="2.5"`, "whole number"},
		{"pigeon:weight=99999999999999999999", "weight=", "whole number"},
		{"pigeon:order=size", `order="size"`, "use arrival or fanout"},
		{"pigeon:reserved=1", `reserved="1"`, "below 1"},
		{"pigeon:reserved=-0.1", `reserved="-0.1"`, "from 0"},
		{"pigeon:reserved=NaN", `reserved="NaN"`, "a share"},
		{"pigeon:reserved=10%", `reserved="10%"`, "such as 0.1"},
		{"kairos:q=0", `q="0"`, "from 1"},
		{"kairos:cores=0", `cores="0"`, "from 1"},
		{"kairos:s=-1", `s="-1"`, "from 0"},
		{"kairos:quantum=0s", `quantum="0s"`, "1us or more"},
		{"kairos:quantum=1ns", `quantum="1ns"`, "1us or more"},
		{"kairos:heartbeat=999ns", `heartbeat="999ns"`, "1us or more"},
		{"kairos:hearbeat=1s", `no parameter "hearbeat"`, `did you mean "heartbeat"`},
		{"peacock:interval=-1ms", `interval="-1ms"`, "above zero"},
		{"peacock:printed=maybe", `printed="maybe"`, "yes or no"},
		{"pigeon-x:canary=maybe", `canary="maybe"`, "yes or no"},
		{"pigeon-x:canari=no", `no parameter "canari"`, `did you mean "canary"`},
		{"pigeon-sort:canary=yes", `no parameter "canary"`, "Its parameters are"},
		{"peacok", `"peacok" is unknown`, `did you mean "peacock"`},
		{"pigeon:weight=1,weight=2", `"weight" is given twice`, "leave one out"},
	} {
		_, _, err := policy.Configure(c.spec, given)
		if err == nil || !strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), c.next) {
			t.Errorf("%q returns %v; want %q and %q", c.spec, err, c.fault, c.next)
		}
	}
}

// Parameters that come from flags and files are held against the same limits.
func TestConfigureChecksWhatItWasGiven(t *testing.T) {
	for _, p := range []sched.Params{
		{Cutoff: 0}, {Cutoff: -1}, {Cutoff: 1, Weight: -1}, {Cutoff: 1, Reserved: 1}, {Cutoff: 1, Reserved: math.NaN()},
	} {
		if _, _, err := policy.Configure("pigeon", p); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}

// Names are what a user writes (docs/policies.md): lower case, no separators.
func TestNames(t *testing.T) {
	names := policy.Names()
	if !slices.Contains(names, "pigeon") {
		t.Errorf("%q lacks pigeon", names)
	}
	for i, n := range names {
		if n == "" || strings.ContainsAny(n, ":,= ") || n != strings.ToLower(n) || slices.Contains(names[:i], n) {
			t.Errorf("%q is no name for a policy", n)
		}
	}
}

// Every policy declares what the shells around its cores need to know.
func TestTraits(t *testing.T) {
	for _, name := range policy.Names() {
		p, params, err := policy.Configure(name, given)
		if err != nil {
			t.Fatal(err)
		}
		d := p.NewDistributor(sched.DistributorConfig{Params: params})
		var out sched.Actions
		d.Step(0, sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: sched.JobID{Lo: 1}, Count: 3}, &out)
		if v, ok := d.JobView(sched.JobID{Lo: 1}, 9); !ok || v.Late != p.LateBinding || v.Unbound != 3 || d.Owed().Tasks != 3 {
			t.Errorf("%s: a short job of 3 tasks is %+v, owed are %+v; bound late: %v", name, v, d.Owed(), p.LateBinding)
		}
		if p.NewMaster != nil && (p.Explain == nil || p.Explain(&sched.Waiting{Place: "Group 3", Queued: 2}) == "") {
			t.Errorf("%s has masters and does not explain why tasks wait there", name)
		}
		if p.NewMaster == nil && !p.SingleMaster() {
			t.Errorf("%s has no masters, and not one daemon that publishes the membership", name)
		}
		w := p.NewWorker(sched.WorkerConfig{Params: params, Seq: 5})
		if s := w.Slot(); p.Sequenced && s.Seq != 5 || s.Running.Attempt != 0 || w.Holds(sched.AttemptID{Attempt: 1}) {
			t.Errorf("%s: a new worker is %+v", name, s)
		}
	}
}

// Every policy runs live; those without groups have one master, and Kairos workers
// of several slots.
func TestLive(t *testing.T) {
	for _, c := range []struct {
		spec          string
		masters, most int
		slots         int
		faults        []string
	}{
		{"pigeon:weight=3", 3, 3, 1, nil}, {"pigeon-sort", 3, 3, 1, nil}, {"pigeon-x", 2, 2, 5, nil}, {"hawk", 1, 1, 3, nil},
		{"hawk", 3, 1, 1, []string{"policy hawk has one central master, 3 are configured"}},
		{"eagle", 2, 1, 1, []string{"one central master"}}, {"fifo", 2, 1, 1, []string{"one central master"}},
		{"priority", 2, 1, 1, []string{"one central master"}}, {"kairos", 2, 1, 1, []string{"one central master"}},
		{"sparrow", 3, 1, 1, []string{"publishes the membership", "3 are configured"}}, {"peacock", 2, 1, 1, []string{"publishes the membership"}},
		{"pigeon", 0, 9, 1, []string{"needs a master"}},
		{"kairos:cores=4", 1, 1, 8, nil},
		{"kairos:cores=4", 1, 1, 6, []string{"workers of 4 slots", "a node of 6 slots"}},
		{"pigeon", 1, 9, 0, []string{"a node of 0 slots"}},
	} {
		p, _, err := policy.Configure(c.spec, given)
		if err != nil {
			t.Fatal(err)
		}
		if one := p.SingleMaster(); one != (c.most == 1) {
			t.Errorf("%s has one master: %v", c.spec, one)
		}
		err = errors.Join(policy.CheckMasters(p, c.masters), policy.CheckSlots(p, c.slots))
		if (err == nil) != (c.faults == nil) {
			t.Errorf("%s with %d masters, %d slots: %v", c.spec, c.masters, c.slots, err)
		}
		for _, word := range c.faults {
			if err != nil && !strings.Contains(err.Error(), word) {
				t.Errorf("%s with %d masters, %d slots: %v lacks %q", c.spec, c.masters, c.slots, err, word)
			}
		}
	}
}

// The numbers of a policy reach it within their bounds, and no other policy.
func TestParametersOfRivals(t *testing.T) {
	for _, spec := range []string{
		"sparrow:ratio=1.5,cancel=yes", "hawk:tries=0,reserved=0.2,ratio=3", "eagle:slack=3.5,least=1,ratio=2,reserved=0.17",
		"priority:reserved=0", "fifo",
	} {
		if _, _, err := policy.Configure(spec, given); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for _, c := range []struct{ spec, fault, next string }{
		{"sparow", `"sparow" is unknown`, `did you mean "sparrow"`},
		{"sparrow:ration=2", `no parameter "ration"`, `did you mean "ratio"`},
		{"sparrow:ratio=0.5", `ratio="0.5"`, "from 1 to 100"},
		{"sparrow:ratio=NaN", `ratio="NaN"`, "from 1 to 100"},
		{"sparrow:cancel=maybe", `cancel="maybe"`, "use yes or no"},
		{"sparrow:reserved=0.1", `no parameter "reserved"`, "Its parameters are ratio, cancel"},
		{"hawk:tries=-1", `tries="-1"`, "from 0 to 10000"},
		{"hawk:tires=1", `no parameter "tires"`, `did you mean "tries"`},
		{"eagle:slack=Inf", `slack="Inf"`, "from 0"},
		{"eagle:least=0", `least="0"`, "from 1 to 10000"},
		{"fifo:reserved=0.1", `no parameter "reserved"`, "it has none at all"},
		{"priority:weight=3", `no parameter "weight"`, "reserved"},
	} {
		_, _, err := policy.Configure(c.spec, given)
		if err == nil || !strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), c.next) {
			t.Errorf("%q returns %v; want %q and %q", c.spec, err, c.fault, c.next)
		}
	}
}
