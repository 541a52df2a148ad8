package soak

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
)

// sample is the measures of a daemon at one moment.
type sample struct{ Memory, Goroutines, Descriptors float64 }

// of returns a measure.
func (s sample) of(m Measure) float64 {
	switch m {
	case Memory:
		return s.Memory
	case Goroutines:
		return s.Goroutines
	default:
		return s.Descriptors
	}
}

// daemon is one that is there for the whole run.
type daemon struct {
	name string
	http string // "" for a NATS server
	pid  int
}

// daemonsOf returns the daemons of a cluster.
func daemonsOf(c *cluster.Cluster) (list []daemon) {
	for _, r := range [...]cluster.Role{cluster.Frontend, cluster.Master, cluster.NodeMonitor, cluster.NATS} {
		for i := range c.Count(r) {
			list = append(list, daemon{c.Name(r, i), c.HTTP(r, i), c.Pid(r, i)})
		}
	}
	return list
}

// measures returns those that a daemon has.
func (d *daemon) measures() []Measure {
	if d.http == "" {
		return []Measure{Memory, Descriptors}
	}
	return []Measure{Memory, Goroutines, Descriptors}
}

// read measures the daemon.
func (d *daemon) read(ctx context.Context) (s sample, err error) {
	if d.http == "" {
		return ofProcess(d.pid)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.http+"/metrics", nil)
	if err != nil {
		return s, err
	}
	q.Close = true
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return s, fmt.Errorf("reading the metrics of %s: %w", d.name, err)
	}
	page, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return s, fmt.Errorf("reading the metrics of %s: %w", d.name, err)
	}
	if answer.StatusCode != http.StatusOK {
		return s, fmt.Errorf("reading the metrics of %s: it answered %s", d.name, answer.Status)
	}
	if s, err = readPage(string(page), storeOnHeap); err != nil {
		return s, fmt.Errorf("reading the metrics of %s: %w", d.name, err)
	}
	return s, nil
}

// readPage reads what a daemon keeps after a collection, its goroutines and its descriptors
// from its page of metrics. The store of a frontend's journal is not counted where it is on the
// heap: it grows in steps of 32 MiB up to a bound, and would hide memory that grows without one.
// Elsewhere it is not part of what is kept, and taking it away would hide that memory too. A page that lacks
// a measure is refused: taken for 0, the measure would be flat.
func readPage(page string, storeOnHeap bool) (s sample, err error) {
	store := 0.0 // of the heap, but bounded
	for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		switch name {
		case nextCollection:
			s.Memory = value / 2
		case journalStore:
			store = value
		case goroutines:
			s.Goroutines = value
		case openDescriptors:
			s.Descriptors = value
		}
	}
	for name, value := range map[string]float64{nextCollection: s.Memory, goroutines: s.Goroutines, openDescriptors: s.Descriptors} {
		if value <= 0 { // a process has some of each
			return s, fmt.Errorf("the page has no %s", name)
		}
	}
	if storeOnHeap {
		s.Memory = max(0, s.Memory-store)
	}
	return s, nil
}

// The metrics that are read of a daemon's page.
const (
	nextCollection  = "go_memstats_next_gc_bytes"
	journalStore    = "pigeon_frontend_journal_memory_bytes"
	goroutines      = "go_goroutines"
	openDescriptors = "process_open_fds"
)

// ofProcess measures a process from outside.
func ofProcess(pid int) (s sample, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return s, err
	}
	var size, resident int
	if _, err = fmt.Sscan(string(text), &size, &resident); err != nil {
		return s, err
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return sample{Memory: float64(resident * os.Getpagesize()), Descriptors: float64(len(open))}, err
}
