package metricsdoc

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/cluster/clustertest"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

// TestRunningDaemonsExportWhatThePageHas: a metric that a daemon registers when it starts, outside
// of its newMetrics, is on the page only if the function Metrics of its package registers it too.
func TestRunningDaemonsExportWhatThePageHas(t *testing.T) {
	known := map[string]bool{}
	for _, daemon := range daemons() {
		for _, d := range daemon.Metrics {
			known[d.Name] = true
		}
	}
	c, err := cluster.Start(t.Context(), cluster.Spec{Groups: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	families, err := c.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, f := range families {
		role, _, ours := strings.Cut(strings.TrimPrefix(f.GetName(), "pigeon_"), "_")
		if !ours || !strings.HasPrefix(f.GetName(), "pigeon_") {
			continue
		}
		found[role]++
		if !known[f.GetName()] {
			t.Errorf("a running %s exports %s, and docs/metrics.md does not have it: have the function Metrics in %s/metrics.go register it, and run 'make metrics'", role, f.GetName(), role)
		}
	}
	if found["frontend"] < 20 || found["master"] < 20 || found["nodemonitor"] < 20 {
		t.Errorf("the daemons export %v metrics; want 20 or more of each role", found)
	}
}
