package telemetry

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// series returns what a scrape finds of a metric, by the values of its labels.
func series(t *testing.T, m *Metrics, name string) map[string]float64 {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, metric := range f.Metric {
			var labels []string
			for _, l := range metric.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			found[strings.Join(labels, " ")] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return found
}

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestOwnerCounter(t *testing.T) {
	m := NewMetrics("test")
	c := m.OwnerCounter("x_total", "X.", Label{})
	c.Add(begin, "team/alice", 0, 2)
	c.Add(begin, "", 0, 3)
	c.Add(begin, OtherOwners, 0, 4)
	c.Add(begin.Add(time.Hour), "team/alice", 0, 1)
	got := series(t, m, "pigeon_test_x_total")
	for labels, want := range map[string]float64{"owner=team/alice": 3, "owner=": 3, "owner=other": 4} {
		if got[labels] != want {
			t.Errorf("%s: %v, want %v", labels, got[labels], want)
		}
	}
	if len(got) != 3 {
		t.Errorf("%v", got)
	}
}

// Counts of owners that are not shown belong to the others, and the sum of all series is
// the total as long as no owner loses its place.
func TestOtherOwners(t *testing.T) {
	m := NewMetrics("test")
	c := m.OwnerCounter("x_total", "X.", Label{"class", []string{"short", "long"}})
	const all = ShownOwners + 20
	for i := range all {
		c.Add(begin, fmt.Sprintf("o%02d", i), i%2, 1)
	}
	got := series(t, m, "pigeon_test_x_total")
	if want := 2 * (ShownOwners + 1); len(got) != want {
		t.Fatalf("%d series, want %d", len(got), want)
	}
	sum := 0.0
	for _, v := range got {
		sum += v
	}
	if other := got["class=short owner=other"] + got["class=long owner=other"]; sum != all || other != 20 {
		t.Errorf("the sum is %v, want %d; the others have %v, want 20", sum, all, other)
	}
}

// An owner that counts more than others takes the place of the one that counts least, and
// the others never count down.
func TestOwnersTakePlaces(t *testing.T) {
	m := NewMetrics("test")
	c := m.OwnerCounter("x_total", "X.", Label{})
	for i := range ShownOwners {
		c.Add(begin, fmt.Sprintf("o%02d", i), 0, float64(i+10))
	}
	c.Add(begin, "late", 0, 15)
	if c.choose(); c.IsShown("late") || !c.IsShown("o00") {
		t.Error("late counts 15, the last that is shown 10: they changed places")
	}
	before := series(t, m, "pigeon_test_x_total")["owner=other"]
	c.Add(begin, "late", 0, 10)
	if c.choose(); !c.IsShown("late") || c.IsShown("o00") {
		t.Error("late counts 25, the last that is shown 10: they did not change places")
	}
	c.Add(begin, "late", 0, 7)
	got := series(t, m, "pigeon_test_x_total")
	if got["owner=late"] != 7 || got["owner=other"] < before {
		t.Errorf("late has %v, want 7, which it counted while it was shown; the others had %v and have %v", got["owner=late"], before, got["owner=other"])
	}
	// Old counts are worth little.
	c.Add(begin.Add(100*ownerHalfLife), "new", 0, 3)
	if c.choose(); !c.IsShown("new") {
		t.Error("new counts 3 now, the others did long ago, and new is not shown")
	}
}

// A stream of names that come once each neither grows the table nor displaces an owner
// that counts.
func TestOwnersAreBounded(t *testing.T) {
	m := NewMetrics("test")
	c := m.OwnerCounter("x_total", "X.", Label{})
	const names = 20_000
	for i := range names {
		c.Add(begin, fmt.Sprint("hostile", i), 0, 1)
		if i%10 == 0 {
			c.Add(begin, "busy", 0, 1)
		}
		if i%1000 == 0 {
			c.choose()
		}
	}
	got := series(t, m, "pigeon_test_x_total")
	if len(c.owners) > rankedOwners || len(got) > ShownOwners+1 {
		t.Errorf("%d owners are ranked and %d series shown", len(c.owners), len(got))
	}
	if got["owner=busy"] < names/10-1 || got["owner=busy"] > names/10 {
		t.Errorf("busy has %v, want %d", got["owner=busy"], names/10)
	}
}

// Ranks stay exact however long a daemon runs.
func TestOwnerRanksAreScaled(t *testing.T) {
	c := NewMetrics("test").OwnerCounter("x_total", "X.", Label{})
	for i := range 1000 {
		c.Add(begin.Add(time.Duration(i)*time.Hour), "a", 0, 1)
	}
	if r := c.owners["a"].rank; math.IsInf(r, 0) || math.IsNaN(r) || r > 2*mostScale {
		t.Errorf("the rank is %v", r)
	}
}

func TestCreditedOwners(t *testing.T) {
	m := NewMetrics("test")
	c := m.OwnerCounter("x_total", "X.", Label{})
	c.Credit(begin, "a", 0, 2)
	c.SetTotal(0, 5)
	if got := series(t, m, "pigeon_test_x_total"); got["owner=a"] != 2 || got["owner=other"] != 3 {
		t.Errorf("%v, want 2 of a and 3 of others", got)
	}
	c.Credit(begin, "a", 0, 2) // later than it was used
	if got := series(t, m, "pigeon_test_x_total"); got["owner=a"] != 4 || got["owner=other"] != 3 {
		t.Errorf("%v, want 4 of a and 3 of others, which never count down", got)
	}
	g := m.OwnerGauge("y", "Y.", Label{"class", []string{"short", "long"}})
	g.Set(map[string][]float64{"a": {1, 2}})
	if got := series(t, m, "pigeon_test_y"); len(got) != 2 || got["class=long owner=a"] != 2 {
		t.Errorf("%v", got)
	}
}
