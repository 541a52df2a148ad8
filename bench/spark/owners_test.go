package spark

import (
	"slices"
	"strings"
	"testing"
)

// TestPeopleRows: the ratio is of the same way with and without the flood, and only Pigeon
// with owners has a limit to keep.
func TestPeopleRows(t *testing.T) {
	rows := peopleRows([]served{
		{way: people{name: "A", cold: true}, beside: []float64{30}},
		{way: people{name: "B", limit: most(1.5)}, alone: []float64{0.2}, beside: []float64{0.5}},
	})
	figures, limits := map[string]float64{}, 0
	for _, r := range rows {
		figures[r.Name] = r.Figure()
		if r.Limit != nil {
			limits++
			if r.Name != "p99 beside the flood over alone, B" || r.Met() {
				t.Errorf("%+v", r)
			}
		}
	}
	for name, want := range map[string]float64{
		"streams' p99 beside the flood, A": 30, "streams' p99 alone, B": 0.2, "p99 beside the flood over alone, B": 2.5,
	} {
		if got, found := figures[name]; !found || got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if limits != 1 || len(rows) != 5 {
		t.Errorf("%d rows, %d limits", len(rows), limits)
	}
}

// TestPeopleWays: the work is as the page states, and the people are different owners.
func TestPeopleWays(t *testing.T) {
	if jobs := peopleRate * peopleWindow.Seconds(); jobs < 127 || jobs > 129 { // 0.2 of 8 slots for 40 s
		t.Errorf("%v jobs in a stream", jobs)
	}
	s := suite{o: Options{Seed: 1}}
	if text := s.peopleStream(0, peopleWindow); !strings.HasPrefix(text, "stream 10 50 0.") || text == s.peopleStream(1, peopleWindow) {
		t.Errorf("%.40s", text)
	}
	if owners := poolOwners(); !slices.Contains(owners, "spark.pigeon.pool.stream2.owner=stream2") || len(owners) != 4 {
		t.Errorf("%v", owners)
	}
}
