package compare

import (
	"slices"
	"testing"
)

// A figure is expected of the comparisons that were made in its setting, and of no
// others.
func TestSettings(t *testing.T) {
	steady := setting{family: "ngo", load: 0.9, drawn: true, workers: 120, groups: 3, cutoff: 1}
	uneven, wrong := steady, steady
	uneven.uneven, wrong.wrong = true, 0.2
	made := func(change func(*Manifest)) *Comparison {
		c := &Comparison{Cells: []CellResult{
			{Cell: Cell{Trace: "a/ngo_90.tr", Asked: 0.7}}, {Cell: Cell{Trace: "a/ngo_90.tr", Asked: 0.9}}, {Cell: Cell{Trace: "nyh_70.tr", Asked: 0.9}},
		}}
		c.Manifest.Policies, c.Manifest.Workers, c.Manifest.Groups, c.Manifest.Resample = []string{"pigeon", "pigeon-x"}, 120, []int{40, 40, 40}, 20_000
		c.Manifest.Reserved, c.Manifest.Cutoff, c.Manifest.Delay = 0.1, 1, 0.0005
		change(&c.Manifest)
		return c
	}
	for name, c := range map[string]struct {
		change func(*Manifest)
		of     []setting // that are among it
	}{
		"steady":              {func(*Manifest) {}, []setting{steady}},
		"as in the file":      {func(m *Manifest) { m.Resample = 0 }, nil},
		"unequal groups":      {func(m *Manifest) { m.Groups = []int{60, 40, 20} }, []setting{uneven}},
		"wrong classes":       {func(m *Manifest) { m.WrongClass = 0.2 }, []setting{wrong}},
		"fewer of them":       {func(m *Manifest) { m.WrongClass = 0.1 }, nil},
		"estimates that err":  {func(m *Manifest) { m.Noise = 0.5 }, nil},
		"over another policy": {func(m *Manifest) { m.Policies[0] = "sparrow" }, nil},
		"on more workers":     {func(m *Manifest) { m.Workers = 5000 }, nil},
		"in one group":        {func(m *Manifest) { m.Groups = []int{120} }, nil},
		"with a weight":       {func(m *Manifest) { m.Weight = 20 }, nil},
		"more reserved":       {func(m *Manifest) { m.Reserved = 0.2 }, nil},
		"slower messages":     {func(m *Manifest) { m.Delay = 0.005 }, nil},
		"with another cutoff": {func(m *Manifest) { m.Cutoff = 10 }, nil},
	} {
		for _, s := range []setting{steady, uneven, wrong} {
			var want []int
			if slices.Contains(c.of, s) {
				want = []int{1}
			}
			if got := made(c.change).in(&s); !slices.Equal(got, want) {
				t.Errorf("%s: %+v is in cells %v, want %v", name, s, got, want)
			}
		}
	}
}
