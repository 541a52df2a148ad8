package telemetry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Instance is a daemon whose metrics are served together with those of others.
type Instance struct {
	Name string // "frontend-0", the value of the label instance
	prometheus.Gatherer
}

// instanceLabel is the label that distinguishes targets to Prometheus. A scrape with
// honor_labels keeps an existing one.
const instanceLabel = "instance"

// Instances serves the metrics of several daemons of one process as one page, each with
// its name as the label instance. Metrics of the Go runtime and of the process, which are
// the same for all of them, are there once, without that label.
type Instances []Instance

// Gather returns the metrics of all.
func (list Instances) Gather() ([]*dto.MetricFamily, error) {
	byName := map[string]*dto.MetricFamily{}
	for i, daemon := range list {
		families, err := daemon.Gather()
		if err != nil {
			return nil, fmt.Errorf("the metrics of %s could not be read: %w", daemon.Name, err)
		}
		for _, f := range families {
			own := strings.HasPrefix(f.GetName(), Namespace+"_")
			if !own && i > 0 {
				continue
			}
			if own {
				named(f, daemon.Name)
			}
			if have := byName[f.GetName()]; have != nil {
				have.Metric = append(have.Metric, f.Metric...)
				continue
			}
			byName[f.GetName()] = f
		}
	}
	all := make([]*dto.MetricFamily, 0, len(byName))
	for _, f := range byName {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all, nil
}

// named adds the label to the metrics of a family, which Gather made for this call alone.
func named(f *dto.MetricFamily, name string) {
	label := instanceLabel
	for _, m := range f.Metric {
		m.Label = append(slices.Clone(m.Label), &dto.LabelPair{Name: &label, Value: &name})
		slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	}
}
