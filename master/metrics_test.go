package master

import "testing"

// TestMetricsWithoutADaemon: the metrics can be gathered without a master that runs.
func TestMetricsWithoutADaemon(t *testing.T) {
	families, err := Metrics().Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "pigeon_master_spans_exported_total" {
			return
		}
	}
	t.Errorf("%d families of metrics were gathered, and those of tracing are missing", len(families))
}
