package master

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// ownersSeen returns the series of the owners, "metric owner class".
func ownersSeen(t *testing.T, m *telemetry.Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		for _, metric := range f.Metric {
			labels := map[string]string{}
			for _, l := range metric.Label {
				labels[l.GetName()] = l.GetValue()
			}
			if _, ok := labels["owner"]; ok {
				found[fmt.Sprintf("%s %s %s", f.GetName()[len("pigeon_master_owner_"):], labels["owner"], labels["class"])] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return found
}

func seen(path string, running, queued int, used sched.Time) sched.OwnerView {
	return sched.OwnerView{Owner: path, Running: [sched.NumClasses]int{running, 0}, Queued: [sched.NumClasses]int{queued, 0}, Used: [sched.NumClasses]sched.Time{used, 0}}
}

// A view counts owners with those below them; the metrics count each by itself.
func TestOwnerMetrics(t *testing.T) {
	m := newMetrics(func() sched.Time { return 0 })
	s := sched.Second
	m.owners.apply([]sched.OwnerView{
		seen("", 6, 9, 20*s), seen("bob", 1, 0, 2*s), seen("team", 4, 9, 17*s), seen("team/alice", 3, 5, 10*s), seen("teams", 1, 0, s),
	})
	check := func(want map[string]float64) {
		t.Helper()
		got := ownersSeen(t, m.Metrics)
		for series, v := range want {
			if got[series] != v {
				t.Errorf("%s is %v, want %v", series, got[series], v)
			}
		}
	}
	check(map[string]float64{
		"slot_seconds_total bob short": 2, "slot_seconds_total team short": 7, "slot_seconds_total team/alice short": 10, "slot_seconds_total teams short": 1,
		"slot_seconds_total other short": 0, "running_tasks team short": 1, "running_tasks team/alice short": 3, "queued_tasks team short": 4, "queued_tasks team/alice short": 5,
	})
	// Alice is idle and is not in the view, with 4 s more; bob was forgotten and came back.
	m.owners.apply([]sched.OwnerView{seen("", 2, 0, 29*s), seen("bob", 1, 0, s), seen("team", 1, 0, 26*s)})
	check(map[string]float64{"slot_seconds_total bob short": 3, "slot_seconds_total team short": 16, "running_tasks team/alice short": 0, "running_tasks team short": 1})
	m.owners.apply([]sched.OwnerView{seen("", 0, 0, 30*s)})
	if got := ownersSeen(t, m.Metrics); len(got) == 0 || got["slot_seconds_total bob short"] != 3 {
		t.Errorf("%v", got)
	}
	for series := range ownersSeen(t, m.Metrics) {
		if len(series) > 13 && series[:13] == "running_tasks" {
			t.Errorf("%s is shown, and nothing runs", series)
		}
	}
}

// Owners after the first fifty are added up.
func TestManyOwners(t *testing.T) {
	t.Parallel()
	m := newMetrics(func() sched.Time { return 0 })
	const all = 3 * telemetry.ShownOwners
	list := []sched.OwnerView{seen("", all, all, all*sched.Second)}
	for i := range all {
		list = append(list, seen(fmt.Sprintf("o%03d", i), 1, 1, sched.Second))
	}
	m.owners.apply(list)
	got := ownersSeen(t, m.Metrics)
	if len(got) != 3*2*(telemetry.ShownOwners+1) {
		t.Errorf("%d series", len(got))
	}
	for _, series := range []string{"running_tasks other short", "queued_tasks other short", "slot_seconds_total other short"} {
		if got[series] != all-telemetry.ShownOwners {
			t.Errorf("%s is %v, want %d", series, got[series], all-telemetry.ShownOwners)
		}
	}
	// Owners that are gone are forgotten before they are too many.
	for i := range 3 * forgetOwners / 100 {
		list = list[:1]
		for k := range 100 {
			list = append(list, seen(fmt.Sprintf("p%d-%d", i, k), 1, 0, sched.Second))
		}
		m.owners.apply(list)
	}
	if n := len(m.owners.known); n > forgetOwners+200 {
		t.Errorf("%d owners are known", n)
	}
}
