package telemetry

import (
	"slices"
	"strings"
	"testing"
)

// TestDescriptions: the described metrics are those that a scrape finds, whichever
// constructor registered them.
func TestDescriptions(t *testing.T) {
	m := NewMetrics("test")
	class := Label{"class", []string{"short", "long"}}
	m.Counter("a_total", "A.")
	m.Counters("b_total", "B.", "class", "short", "long")
	m.Gauge("c", "C.")
	m.GaugeMatrix("e", "E.", Label{"kind", []string{"general", "reserved"}}, Label{"state", []string{"idle", "busy"}})[1][0].Set(5)
	m.GaugeFunc("f", "F.", func() float64 { return 1 })
	m.GaugeFuncs("g", "G.", class, func(i int) float64 { return float64(10 + i) })
	m.CounterFunc("h_total", "H.", func() float64 { return 1 })
	m.CounterFuncs("i_total", "I.", class, func(i int) float64 { return float64(20 + i) })
	m.Latencies("j_seconds", "J.", "class", "short", "long")
	m.WatchTracing(Off())

	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var scraped, described []string
	values := map[string]float64{} // of gauges and counters, by name and label values
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "pigeon_") {
			continue
		}
		for _, metric := range f.Metric {
			line := f.GetName() + " " + strings.ToLower(f.GetType().String()) + " " + f.GetHelp()
			for _, l := range metric.Label {
				line += " " + l.GetName() + "=" + l.GetValue()
			}
			scraped = append(scraped, line)
			values[line] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	for _, d := range m.Descriptions() {
		lines := []string{d.Name + " " + d.Type + " " + d.Help}
		for _, l := range d.Labels {
			var longer []string
			for _, line := range lines {
				for _, v := range l.Values {
					longer = append(longer, line+" "+l.Name+"="+v)
				}
			}
			lines = longer
		}
		described = append(described, lines...)
	}
	slices.Sort(scraped)
	slices.Sort(described)
	if !slices.Equal(scraped, described) {
		t.Errorf("scraped:\n%s\ndescribed:\n%s", strings.Join(scraped, "\n"), strings.Join(described, "\n"))
	}
	for line, want := range map[string]float64{
		"pigeon_test_e gauge E. kind=reserved state=idle": 5,
		"pigeon_test_g gauge G. class=long":               11,
		"pigeon_test_i_total counter I. class=long":       21,
	} {
		if got := values[line]; got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
