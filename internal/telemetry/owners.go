package telemetry

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics with the label owner are bounded, however many owners there are and whatever
// they are called: the first ShownOwners of a daemon's run have their own series, and all
// others share OtherOwners. An owner of that name is counted there.
const (
	ShownOwners = 50
	OtherOwners = "other"
)

// OwnerLabels decides which owners have their own series. The zero value is ready, and
// safe for concurrent use.
type OwnerLabels struct {
	mu    sync.Mutex
	shown map[string]bool
}

// Of returns the value of the label owner for an owner of [api.CheckOwner].
func (l *OwnerLabels) Of(owner string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.shown[owner]:
		return owner
	case owner == OtherOwners || len(l.shown) >= ShownOwners:
		return OtherOwners
	case l.shown == nil:
		l.shown = map[string]bool{}
	}
	owner = strings.Clone(owner) // a part of a request that is forgotten
	l.shown[owner] = true
	return owner
}

func ownerLabel() Label {
	return Label{"owner", []string{"the first 50", OtherOwners}}
}

// OwnerCounters registers a counter with the label owner, whose values are of
// [OwnerLabels], and further labels.
func (m *Metrics) OwnerCounters(name, help string, labels ...Label) *prometheus.CounterVec {
	labels = append([]Label{ownerLabel()}, labels...)
	vec := prometheus.NewCounterVec(prometheus.CounterOpts(m.opts(name, help)), labelNames(labels))
	m.register(vec, name, counter, help, labels...)
	return vec
}

// OwnerGauges is OwnerCounters for a gauge.
func (m *Metrics) OwnerGauges(name, help string, labels ...Label) *prometheus.GaugeVec {
	labels = append([]Label{ownerLabel()}, labels...)
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts(m.opts(name, help)), labelNames(labels))
	m.register(vec, name, gauge, help, labels...)
	return vec
}

func labelNames(labels []Label) (names []string) {
	for _, l := range labels {
		names = append(names, l.Name)
	}
	return names
}
