package spark

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	ten := 10.0
	rows := []Row{
		{Name: "ratio", Limit: most(1.05), Values: []float64{1.2, 1.04, 1.01}},
		{Name: "missed", Limit: most(1.01), Values: []float64{1.0101}},
		{Name: "times better", Limit: least(3), Values: []float64{2, 20}, Value: &ten},
		{Name: "worse", Limit: least(3), Values: []float64{2.9}},
		{Name: "for comparison", Unit: "ms", Values: []float64{0.5, 0.25, 123.4}},
	}
	var b strings.Builder
	if err := WriteTable(&b, rows); err != nil {
		t.Fatal(err)
	}
	want := `| measure | limit | figure | from - to | values | met |
| --- | ---: | ---: | ---: | ---: | --- |
| ratio | at most 1.050 | 1.040 | 1.010 - 1.200 | 3 | yes |
| missed | at most 1.010 | 1.010 |  | 1 | no |
| times better | at least 3.000 | 10.0 | 2.000 - 20.0 | 2 | yes |
| worse | at least 3.000 | 2.900 |  | 1 | no |
| for comparison |  | 0.500 ms | 0.250 - 123 | 3 |  |

`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestWaveRows(t *testing.T) {
	lanes := []lane{{name: "standalone"}, {name: "Pigeon"}, {name: "other"}}
	rows := waveRows(wave{10, 2, 1.05}, lanes, [][]float64{{2.5, 5}, {3, 5}, {5, 10}})
	for i, want := range [][]float64{{1, 2}, {1.2, 1}, {2, 2}} {
		for k, x := range rows[i].Values {
			if x != want[k] {
				t.Errorf("row %d, %s: %v, want %v", i, rows[i].Name, rows[i].Values, want)
			}
		}
	}
	if rows[0].Limit != nil || rows[1].Limit == nil || rows[2].Limit != nil {
		t.Error("Pigeon alone has a limit to keep")
	}
}

func TestSharingRows(t *testing.T) {
	of := func(x, long float64) *shared { return &shared{short: [][]float64{{x}, {x}, {x}}, long: long} }
	rows := sharingRows(map[string]*shared{
		granted.name: of(0.5, 70), fifo.name: of(20, 20), static.name: of(2, 70), dynamic.name: of(1, 40),
	})
	figures := map[string]float64{}
	for _, r := range rows {
		figures[r.Name] = r.Figure()
	}
	for name, want := range map[string]float64{
		"short jobs' p99, Pigeon":                                              0.5,
		"short jobs' p99, standalone FIFO over Pigeon":                         40,
		"short jobs' p99, standalone, spark.cores.max over Pigeon":             4,
		"short jobs' p99, standalone, dynamic allocation over Pigeon":          2,
		"long job on Pigeon, over what the 2 slots take that are not reserved": 1,
	} {
		if got, found := figures[name]; !found || got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
