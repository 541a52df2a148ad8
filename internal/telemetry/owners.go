package telemetry

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics with the label owner are bounded, however many owners there are and whatever
// they are called: the ShownOwners that counted most lately have their own series, and
// all others are one series, OtherOwners. An owner of that name is counted there.
const (
	ShownOwners = 50
	OtherOwners = "other"
)

const (
	// rankedOwners is the number of owners whose counts are kept.
	rankedOwners = 10 * ShownOwners
	// ownerHalfLife is the time after which what an owner has counted is worth half.
	ownerHalfLife = 10 * time.Minute
	// mostScale is the worth of 1 at which all ranks are scaled down, so that they stay exact.
	mostScale = 1 << 40
)

// OwnerCounter is a counter with the label owner and, optionally, one more. It is safe for
// concurrent use.
//
// The owners that count most are found by the algorithm Space-Saving (Metwally, Agrawal,
// El Abbadi: Efficient Computation of Frequent and Top-k Elements in Data Streams, 2005,
// section 3), with older counts worth less: an owner that is not ranked takes the place,
// and the rank, of the last. So every owner that counts more than 1/500 of everything is
// ranked, and names that come once each displace only one another.
type OwnerCounter struct {
	desc    *prometheus.Desc
	columns []string // values of the other label; one "" without it

	mu       sync.Mutex
	owners   map[string]*rankedOwner
	shown    int       // how many of them are
	total    []float64 // of all owners, by column
	credited []float64 // all that was ever added to owners that were shown then
	other    []float64 // as of the last scrape
	epoch    time.Time // when 1 was worth 1
}

type rankedOwner struct {
	name   string
	rank   float64
	shown  bool
	counts []float64 // by column, while it is shown
}

// OwnerCounter registers a counter with the label owner and, when it has values, another.
func (m *Metrics) OwnerCounter(name, help string, label Label) *OwnerCounter {
	desc, columns := m.ownerDesc(name, counter, help, label)
	c := &OwnerCounter{
		desc: desc, columns: columns, owners: map[string]*rankedOwner{},
		total: make([]float64, len(columns)), credited: make([]float64, len(columns)), other: make([]float64, len(columns)),
	}
	m.Registry.MustRegister(c)
	return c
}

func (m *Metrics) ownerDesc(name, kind, help string, label Label) (desc *prometheus.Desc, columns []string) {
	owner := Label{"owner", []string{"the 50 with the highest recent counts", OtherOwners}}
	names, columns := []string{owner.Name}, []string{""}
	labels := []Label{owner}
	if len(label.Values) > 0 {
		names, columns, labels = append(names, label.Name), label.Values, append(labels, label)
	}
	m.describe(name, kind, help, labels...)
	return prometheus.NewDesc(prometheus.BuildFQName(Namespace, m.role, name), help, names, nil), columns
}

// Add counts n for an owner, and in the total.
func (c *OwnerCounter) Add(now time.Time, owner string, column int, n float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total[column] += n
	c.credit(now, owner, column, n)
}

// Credit counts n for an owner as a part of a total that is known: see SetTotal.
func (c *OwnerCounter) Credit(now time.Time, owner string, column int, n float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.credit(now, owner, column, n)
}

// SetTotal sets how much all owners together have counted, where that is known better than
// by adding: what is credited to no shown owner belongs to the others.
func (c *OwnerCounter) SetTotal(column int, total float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total[column] = total
}

// IsShown reports whether the owner has its own series.
func (c *OwnerCounter) IsShown(owner string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owners[owner]
	return o != nil && o.shown
}

func (c *OwnerCounter) credit(now time.Time, owner string, column int, n float64) {
	if owner == OtherOwners {
		return
	}
	o := c.owners[owner]
	if o == nil {
		o = c.enter(owner)
	}
	o.rank += n * c.scale(now)
	if o.shown {
		o.counts[column] += n
		c.credited[column] += n
	}
}

// scale returns what 1 is worth now.
func (c *OwnerCounter) scale(now time.Time) float64 {
	if c.epoch.IsZero() {
		c.epoch = now
	}
	s := math.Exp2(max(0, now.Sub(c.epoch).Seconds()) / ownerHalfLife.Seconds())
	if s < mostScale {
		return s
	}
	for _, o := range c.owners {
		o.rank /= s
	}
	c.epoch = now
	return 1
}

// enter ranks an owner that is not ranked, in the place of the last if there is no room.
func (c *OwnerCounter) enter(owner string) *rankedOwner {
	o := &rankedOwner{name: strings.Clone(owner)}
	if len(c.owners) >= rankedOwners {
		last := c.last()
		o.rank = last.rank
		c.hide(last)
		delete(c.owners, last.name)
	}
	c.owners[o.name] = o
	if c.shown < ShownOwners {
		c.show(o)
	}
	return o
}

// last returns the owner that counts least, one that is not shown before one that is.
func (c *OwnerCounter) last() *rankedOwner {
	var last *rankedOwner
	for _, o := range c.owners {
		if last == nil || o.shown != last.shown && last.shown || o.shown == last.shown && compareRanks(o, last) > 0 {
			last = o
		}
	}
	return last
}

// compareRanks orders owners by rank, the highest first, and then by name.
func compareRanks(a, b *rankedOwner) int {
	return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.name, b.name))
}

func (c *OwnerCounter) show(o *rankedOwner) {
	o.shown, o.counts = true, make([]float64, len(c.columns))
	c.shown++
}

func (c *OwnerCounter) hide(o *rankedOwner) {
	if o.shown {
		o.shown, o.counts = false, nil
		c.shown--
	}
}

// choose shows owners that are not shown and count twice as much as the last that is. With
// less of a difference the two would change places at every scrape.
func (c *OwnerCounter) choose() []*rankedOwner {
	list := make([]*rankedOwner, 0, len(c.owners))
	for _, o := range c.owners {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b *rankedOwner) int {
		if a.shown != b.shown {
			if a.shown {
				return -1
			}
			return 1
		}
		return compareRanks(a, b)
	})
	for in, out := c.shown-1, c.shown; in >= 0 && out < len(list) && list[out].rank > 2*list[in].rank; in, out = in-1, out+1 {
		c.hide(list[in])
		c.show(list[out])
	}
	return slices.DeleteFunc(list, func(o *rankedOwner) bool { return !o.shown })
}

// Describe implements [prometheus.Collector].
func (c *OwnerCounter) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements [prometheus.Collector].
func (c *OwnerCounter) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.choose() {
		sendOwner(out, c.desc, prometheus.CounterValue, c.columns, o.name, o.counts)
	}
	for i := range c.other {
		c.other[i] = max(c.other[i], c.total[i]-c.credited[i])
	}
	sendOwner(out, c.desc, prometheus.CounterValue, c.columns, OtherOwners, c.other)
}

func sendOwner(out chan<- prometheus.Metric, desc *prometheus.Desc, kind prometheus.ValueType, columns []string, owner string, values []float64) {
	for i, column := range columns {
		labels := []string{owner}
		if len(columns) > 1 {
			labels = append(labels, column)
		}
		metric, err := prometheus.NewConstMetric(desc, kind, values[i], labels...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(desc, err)
		}
		out <- metric
	}
}

// OwnerGauge is a gauge with the labels of an [OwnerCounter], whose owners it shows. It is
// safe for concurrent use.
type OwnerGauge struct {
	desc    *prometheus.Desc
	columns []string

	mu     sync.Mutex
	values map[string][]float64 // by owner, then column
}

// OwnerGauge registers a gauge with the label owner and, when it has values, another.
func (m *Metrics) OwnerGauge(name, help string, label Label) *OwnerGauge {
	desc, columns := m.ownerDesc(name, gauge, help, label)
	g := &OwnerGauge{desc: desc, columns: columns, values: map[string][]float64{}}
	m.Registry.MustRegister(g)
	return g
}

// Set replaces all values: they are by owner, then column. The caller has added up the
// owners that a counter does not show under [OtherOwners].
func (g *OwnerGauge) Set(values map[string][]float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.values = values
}

// Describe implements [prometheus.Collector].
func (g *OwnerGauge) Describe(out chan<- *prometheus.Desc) { out <- g.desc }

// Collect implements [prometheus.Collector].
func (g *OwnerGauge) Collect(out chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for owner, values := range g.values {
		sendOwner(out, g.desc, prometheus.GaugeValue, g.columns, owner, values)
	}
}
