package telemetry

import (
	"fmt"
	"strings"
	"testing"
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

// However many owners count, the first fifty have their own series and the others share one.
func TestOwnersAreBounded(t *testing.T) {
	m := NewMetrics("test")
	var labels OwnerLabels
	c := m.OwnerCounters("x_total", "X.")
	g := m.OwnerGauges("y", "Y.", Label{"class", []string{"short", "long"}})
	const all = 20_000
	for range 2 {
		for i := range all {
			label := labels.Of(fmt.Sprint("o", i))
			c.WithLabelValues(label).Inc()
			g.WithLabelValues(label, "long").Inc()
		}
	}
	got := series(t, m, "pigeon_test_x_total")
	if len(got) != ShownOwners+1 || got["owner=o0"] != 2 || got["owner=o49"] != 2 || got["owner=other"] != 2*(all-ShownOwners) {
		t.Errorf("%d series: %v; want 2 for each of the first %d owners, the rest under %s", len(got), got, ShownOwners, OtherOwners)
	}
	if got := series(t, m, "pigeon_test_y"); len(got) != ShownOwners+1 || got["class=long owner=other"] != 2*(all-ShownOwners) {
		t.Errorf("%d series: %v", len(got), got)
	}
}

// An owner that is called as the others are together takes no place, and no owner has none.
func TestOwnersOfSpecialNames(t *testing.T) {
	var labels OwnerLabels
	if got := labels.Of(OtherOwners); got != OtherOwners || len(labels.shown) != 0 {
		t.Errorf("%q, and %d owners are shown", got, len(labels.shown))
	}
	if got := labels.Of(""); got != "" || !labels.shown[""] {
		t.Errorf("%q, shown: %v", got, labels.shown)
	}
}
