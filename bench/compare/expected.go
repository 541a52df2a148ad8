package compare

import "strings"

// expectation is what an independent simulator of the same definitions found:
// completion times of a policy over those of pigeon.
type expectation struct {
	family   string  // traces whose names begin so
	load     float64 // asked for; 0 as in the file
	resample bool
	policy   string
	class    int
	what     [3]string
	ratios   [3]float64 // 0 is none
}

func expectations() []expectation {
	percentiles, tail := [3]string{"p50", "p90", "p99"}, [3]string{"mean", "p99"}
	return []expectation{
		{"ngo_90", 0, false, "sparrow", 0, percentiles, [3]float64{212, 100, 57}},
		{"ngo_90", 0, false, "eagle", 0, percentiles, [3]float64{2.1, 26, 16}},
		{"ngo_90", 0, false, "hawk", 0, percentiles, [3]float64{16, 34, 33}},
		{"ngo", 0.9, true, "pigeon-sort", 0, tail, [3]float64{0.61, 0.37}},
		{"ngo", 0.9, true, "pigeon-sort", 1, tail, [3]float64{0.45, 0.80}},
		{"nyh", 0.9, true, "pigeon-sort", 0, tail, [3]float64{0.49, 0.93}},
		{"nyh", 0.9, true, "pigeon-sort", 1, tail, [3]float64{0.68, 1.02}},
		{"ngo", 0.9, true, "pigeon-x", 0, tail, [3]float64{0.53, 0.21}},
		{"ngo", 0.9, true, "pigeon-x", 1, tail, [3]float64{0.45, 0.81}},
		{"nyh", 0.9, true, "pigeon-x", 0, tail, [3]float64{0.24, 0.19}},
		{"nyh", 0.9, true, "pigeon-x", 1, tail, [3]float64{0.70, 1.07}},
		{"ngo", 0.7, true, "pigeon-x", 1, tail, [3]float64{0.70, 0.94}},
		{"ngo", 0.95, true, "pigeon-x", 1, tail, [3]float64{0.38, 0.78}},
		{"nyh", 0.7, true, "pigeon-x", 1, tail, [3]float64{0.92, 1.01}},
		{"nyh", 0.95, true, "pigeon-x", 1, tail, [3]float64{0.60, 1.16}},
		{"goog_sub", 0.9, false, "pigeon-x", 0, tail, [3]float64{0.12, 0.23}},
		{"goog_sub", 0.9, false, "pigeon-x", 1, tail, [3]float64{0.33, 0.91}},
	}
}

// beside writes the expectations that the comparisons have a row for.
func beside(out *markdown, all []*Comparison) {
	begun := false
	for _, e := range expectations() {
		for _, c := range all {
			for _, row := range c.matching(e) {
				if !begun {
					begun = true
					out.linef("## Beside an independent simulator\n\nThe same definitions in another simulator, written apart from this one. Completion times relative to pigeon.\n")
					out.head("setting", "policy", "class", "figure", "expected", "measured", "difference")
				}
				want := row.want
				got := float64(row.Relative.Mean)
				out.row(TraceName(c.Cells[row.Cell].Cell.Trace)+", "+c.Cells[row.Cell].Cell.Label(), e.policy, classNames()[e.class], row.What,
					significant(want), ratio(row.Relative), fixed(100*(got-want)/want, 0)+" %")
			}
		}
	}
	if begun {
		out.linef("")
	}
}

type matched struct {
	Row
	want float64
}

func (c *Comparison) matching(e expectation) (list []matched) {
	if c.Manifest.Policies[0] != "pigeon" || e.resample != (c.Manifest.Resample > 0) {
		return nil
	}
	for i := range c.Cells {
		cell := &c.Cells[i].Cell
		if cell.Asked != e.load || !strings.HasPrefix(TraceName(cell.Trace), e.family) {
			continue
		}
		for _, r := range c.Cells[i].rows(i, e.class) {
			for k, what := range e.what {
				if r.Mode == ModeSim && r.Policy == e.policy && r.Of == "completion" && r.What == what && e.ratios[k] > 0 {
					list = append(list, matched{r, e.ratios[k]})
				}
			}
		}
	}
	return list
}
