package spark

import (
	"slices"
	"strings"
	"testing"
)

// TestPeopleRows: the ratio is of the same way with and without the flood, and only Pigeon
// with owners has a limit to keep.
func TestPeopleRows(t *testing.T) {
	ways := []people{{name: "A", cold: true}, {name: "B", limit: most(1.5)}}
	rows := peopleRows(ways, []served{{beside: []float64{30}}, {alone: []float64{0.2}, beside: []float64{0.5}}})
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

// TestPeopleWays: the work is what the page says, and the people are different owners.
func TestPeopleWays(t *testing.T) {
	if jobs := peopleRate * streamTime.Seconds(); jobs < 191 || jobs > 193 { // 0.2 of 8 slots for a minute
		t.Errorf("%v jobs in a stream", jobs)
	}
	s := suite{o: Options{Seed: 1}}
	if text := s.peopleStream(0, streamTime); !strings.HasPrefix(text, "stream 10 50 0.") || text == s.peopleStream(1, streamTime) {
		t.Errorf("%.40s", text)
	}
	if owners := poolOwners(); !slices.Contains(owners, "spark.pigeon.pool.stream2.owner=stream2") || len(owners) != 4 {
		t.Errorf("%v", owners)
	}
}
