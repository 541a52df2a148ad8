package compare

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

// A comparison of a flood also shows what the others get without it, from a run in which only
// the jobs of the flood are left out, and its folder keeps that.
func TestFloodBesideNone(t *testing.T) {
	p := small()
	p.Loads, p.Base.Seeds = []float64{0.9}, 2
	p.Base.Workload.Owners = &workload.Owners{Count: 5, Skew: 1, Flood: 0.5, Burst: 100}
	c := compared(t, p)
	dir := t.TempDir()
	if err := MakeFolder(dir); err != nil {
		t.Fatal(err)
	}
	if err := c.writeText(dir); err != nil {
		t.Fatal(err)
	}
	read, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Comparison{c, read} {
		for _, policy := range c.Cells[0].Policies {
			for _, r := range policy.Results {
				if len(r.Owners) != 5 || r.OwnerOf(workload.FloodOwner).Short.Jobs == 0 {
					t.Fatalf("owners %+v", r.Owners)
				}
				if r.OthersAlone == nil || r.OthersAlone.Short == r.Others.Short {
					t.Errorf("the others get the same without the flood: %+v, %+v", r.OthersAlone, r.Others)
				}
			}
		}
		var report bytes.Buffer
		if err := c.Report(&report); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Owners: 5, with Zipf shares of the jobs, exponent 1; one of them submits 0.5", "all owners but the one that floods", "Jain's index"} {
			if !strings.Contains(report.String(), want) {
				t.Errorf("%q is not in the report", want)
			}
		}
	}
	without := *p
	absent := *p.Base.Workload.Owners
	absent.Absent = true
	without.Base.Workload.Owners = &absent
	alone := compared(t, &without)
	if got, want := alone.Cells[0].Policies[0].Results[0].Others, c.Cells[0].Policies[0].Results[0].OthersAlone; *got != *want {
		t.Errorf("without the flood %+v, want %+v", got, want)
	}
}
