package reuther_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/bench/reuther"
	"github.com/pigeon-sched/pigeon/cluster/clustertest"
)

// TestMain: this test binary is the daemons.
func TestMain(m *testing.M) {
	self, err := os.Executable()
	if err == nil {
		err = os.Setenv(product.Variable, self)
	}
	if err != nil {
		panic(err)
	}
	clustertest.Main(m)
}

// options returns those of peers with the program of bench/peers, as far as it was built.
func options(t *testing.T) reuther.Options {
	t.Helper()
	path, err := filepath.Abs("../../bin/peers")
	if err != nil {
		t.Fatal(err)
	}
	return reuther.Options{Peers: path}
}

func TestSets(t *testing.T) {
	paper := reuther.Plan{Slots: 1408, Work: 240 * time.Second, Rounds: 1, Durations: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, time.Minute}}
	if err := paper.Check(); err != nil {
		t.Fatal(err)
	}
	var each []int
	for _, s := range paper.Sets() {
		each = append(each, s.Each)
	}
	if want := []int{240, 48, 8, 4}; !slices.Equal(each, want) { // section 5
		t.Errorf("n of the paper's sets is %d, want %d", each, want)
	}
}

func TestPlansThatCannotBeRun(t *testing.T) {
	for want, change := range map[string]func(*reuther.Plan){
		"0 slots":             func(p *reuther.Plan) { p.Slots = 0 },
		"no durations":        func(p *reuther.Plan) { p.Durations = nil },
		"0 rounds":            func(p *reuther.Plan) { p.Rounds = 0 },
		"tasks of 2s do not":  func(p *reuther.Plan) { p.Durations = []time.Duration{2 * time.Second} },
		"tasks of -1s do not": func(p *reuther.Plan) { p.Durations = []time.Duration{-time.Second} },
		"length zero":         func(p *reuther.Plan) { p.Durations, p.Zero = []time.Duration{0}, 0 },
		"250ms are given twice": func(p *reuther.Plan) {
			p.Durations = []time.Duration{250 * time.Millisecond, time.Second, 250 * time.Millisecond}
		},
		"more than 10000000": func(p *reuther.Plan) { p.Durations = []time.Duration{time.Microsecond / 10} },
	} {
		p := reuther.Plan{Slots: 2, Work: time.Second, Rounds: 1, Durations: []time.Duration{time.Second}, Zero: 1}
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
}

// imitated records the programs that it was given and runs nothing.
type imitated struct {
	name    string
	fault   error
	mu      sync.Mutex
	ran     [][]string
	stopped bool
}

func (p *imitated) Name() string { return p.name }
func (p *imitated) Describe(context.Context) (reuther.Description, error) {
	return reuther.Description{About: "imitated", Configuration: "slots 2\n"}, nil
}
func (p *imitated) Start(context.Context, int) error { return p.fault }
func (p *imitated) Stop() error                      { p.stopped = true; return nil }
func (p *imitated) Run(_ context.Context, programs [][]string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ran = append(p.ran, programs...)
	return nil
}

// TestPeersRunTheSame: all peers are given the same programs, in every round; one that is
// absent is named; all that were started are stopped.
func TestPeersRunTheSame(t *testing.T) {
	a, b := &imitated{name: "a"}, &imitated{name: "b"}
	absent := &imitated{name: "c", fault: fmt.Errorf("c %w: apt-get install c", reuther.ErrAbsent)}
	plan := reuther.Plan{Slots: 2, Work: time.Second, Rounds: 2, Durations: []time.Duration{0, 500 * time.Millisecond}, Zero: 1}
	r, err := reuther.Run(t.Context(), plan, []reuther.Peer{a, absent, b}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(a.ran, b.ran, slices.Equal[[]string]) || !a.stopped || !b.stopped || !absent.stopped {
		t.Errorf("%v and %v; stopped %v, %v, %v", a.ran, b.ran, a.stopped, b.stopped, absent.stopped)
	}
	if len(a.ran) != 2*(2+4) {
		t.Errorf("%d programs: %q", len(a.ran), a.ran)
	}
	if first, last := a.ran[0], a.ran[len(a.ran)-1]; !slices.Equal(first, []string{"true"}) || !slices.Equal(last, []string{"sleep", "0.5"}) {
		t.Errorf("%q, %q", first, last)
	}
	if len(r.LeftOut) != 1 || !strings.Contains(r.LeftOut[0], "apt-get install c") || len(r.Peers) != 2 || len(r.Peers[1].Sets[0].Total) != 2 {
		t.Errorf("%+v", r)
	}
	if _, err := reuther.Run(t.Context(), plan, []reuther.Peer{absent}, func(string) {}); err == nil || !strings.Contains(err.Error(), "apt-get install c") {
		t.Errorf("without any peer: %v", err)
	}
	broken := &imitated{name: "d", fault: errors.New("no port is free")}
	if _, err := reuther.Run(t.Context(), plan, []reuther.Peer{a, broken}, func(string) {}); err == nil || !strings.Contains(err.Error(), "d cannot be started: no port is free") {
		t.Errorf("a peer that cannot be started: %v", err)
	}
}

// tried returns the names of all peers; with -short those that start no foreign daemons.
func tried() []string {
	if testing.Short() {
		return []string{"floor", "pigeon", "pigeon-dev", "xargs", "parallel"}
	}
	return reuther.Names()
}

// TestRealPeers: each peer that this machine has runs all tasks, as many at a time as there
// are slots: 8 tasks of 50 ms on 4 slots take 100 ms at least.
func TestRealPeers(t *testing.T) {
	wanted := tried()
	var peers []reuther.Peer
	for _, name := range wanted {
		p, err := reuther.New(name, options(t))
		if err != nil {
			t.Fatal(err)
		}
		peers = append(peers, p)
	}
	plan := reuther.Plan{Slots: 4, Work: 100 * time.Millisecond, Rounds: 1, Durations: []time.Duration{0, 50 * time.Millisecond, 100 * time.Millisecond}, Zero: 2}
	r, err := reuther.Run(t.Context(), plan, peers, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.LeftOut)
	names := []string{}
	for _, p := range r.Peers {
		names = append(names, p.Name)
		for _, s := range p.Sets {
			if s.Duration > 0 && (s.Median < 0.1 || !(s.Utilization > 0 && s.Utilization <= 1)) {
				t.Errorf("%s: %+v", p.Name, s)
			}
		}
	}
	if len(names)+len(r.LeftOut) != len(wanted) || !slices.Contains(names, "floor") || !slices.Contains(names, "pigeon") || !slices.Contains(names, "pigeon-dev") {
		t.Errorf("%v were measured; left out: %v", names, r.LeftOut)
	}
	var page, text bytes.Buffer
	if err := errors.Join(r.WriteReport(&page, "make this"), r.WriteText(&text)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Written by `make this`", "| pigeon |", "**floor**"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q:\n%s", want, page.String())
		}
	}
	if !strings.Contains(text.String(), "T_total") {
		t.Errorf("%s", text.String())
	}
}

// TestFailures: a program that fails ends the run, with the name of the peer.
func TestFailures(t *testing.T) {
	for _, name := range tried() {
		p, err := reuther.New(name, options(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(t.Context(), 2); err != nil {
			if !errors.Is(err, reuther.ErrAbsent) {
				t.Error(name, err)
			}
			if err := p.Stop(); err != nil {
				t.Error(name, err)
			}
			continue
		}
		if err := p.Run(t.Context(), [][]string{{"sleep", "0"}, {"sleep", "never"}}); err == nil {
			t.Errorf("%s: no error of a program that fails", name)
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
	if _, err := reuther.New("slurn", reuther.Options{}); err == nil || !strings.Contains(err.Error(), "floor, pigeon") {
		t.Errorf("an unknown peer: %v", err)
	}
}
