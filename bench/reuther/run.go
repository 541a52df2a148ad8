package reuther

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Result is what "pigeon-bench reuther" prints; times in seconds.
type Result struct {
	Bench   string          `json:"bench"`    // reuther
	Slots   int             `json:"slots"`    // P
	Work    measure.Number  `json:"work"`     // t x n
	Machine measure.Machine `json:"machine"`  // where it was measured
	Began   time.Time       `json:"began"`    // RFC 3339, in UTC
	LeftOut []string        `json:"left_out"` // peers that are not installed, and why
	Peers   []PeerResult    `json:"peers"`    // those that were measured
}

// PeerResult is one peer's part.
type PeerResult struct {
	Name          string      `json:"name"`          // floor, pigeon, asynq and so on
	About         string      `json:"about"`         // version, and how it is used
	Configuration string      `json:"configuration"` // what was written for it, "" without
	Sets          []SetResult `json:"sets"`          // in the order in which they were run
}

// SetResult is a set on one peer: medians over the rounds.
type SetResult struct {
	Set         string         `json:"set"`          // its name
	Duration    measure.Number `json:"duration"`     // t
	Each        int            `json:"each"`         // n
	Tasks       int            `json:"tasks"`        // P x n
	Total       []float64      `json:"totals"`       // T_total of each round, sorted
	Median      measure.Number `json:"total"`        // of them
	Over        measure.Number `json:"overhead"`     // T_total less the work of a slot, of the median
	Rate        measure.Number `json:"rate"`         // tasks a second
	Utilization measure.Number `json:"utilization"`  // the work of a slot over total
	CPU         measure.Number `json:"cpu_per_task"` // processor time of the machine a task, median
	Load        []float64      `json:"loads"`        // load average before each round
	Foreign     []float64      `json:"foreign"`      // part of the processors, 0 to 1, that was busy before each round, while no peer ran anything
}

// Run measures every set of the plan on every peer, round after round. Peers that are not
// installed are left out and named in the result. progress is called with what is run next.
func Run(ctx context.Context, plan Plan, peers []Peer, progress func(string)) (result *Result, err error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}
	r := &Result{Bench: "reuther", Slots: plan.Slots, Work: measure.Number(plan.Work.Seconds()), Machine: measure.ThisMachine(), Began: time.Now().UTC()}
	sets := plan.Sets()
	var started []Peer
	defer func() {
		for _, p := range started {
			err = errors.Join(err, p.Stop())
		}
	}()
	for _, p := range peers {
		progress("start " + p.Name())
		switch err := p.Start(ctx, plan.Slots); {
		case errors.Is(err, ErrAbsent):
			r.LeftOut = append(r.LeftOut, err.Error())
			if err := p.Stop(); err != nil { // what it started before it was known to be absent
				return nil, err
			}
			continue
		case err != nil:
			return nil, errors.Join(fmt.Errorf("%s cannot be started: %w", p.Name(), err), p.Stop())
		}
		started = append(started, p)
		about, err := p.Describe(ctx)
		if err != nil {
			return nil, fmt.Errorf("the version of %s is not known: %w", p.Name(), err)
		}
		of := PeerResult{Name: p.Name(), About: about.About, Configuration: about.Configuration}
		for _, s := range sets {
			of.Sets = append(of.Sets, SetResult{
				Set: s.Duration.String(), Duration: measure.Number(s.Duration.Seconds()), Each: s.Each, Tasks: plan.Slots * s.Each,
			})
		}
		r.Peers = append(r.Peers, of)
	}
	if len(started) == 0 {
		return nil, fmt.Errorf("no peer can be measured: %s", strings.Join(r.LeftOut, "; "))
	}
	m := measurement{plan: plan, sets: sets, peers: started, result: r, cpu: make([][][]float64, len(started)), progress: progress}
	if err := m.rounds(ctx); err != nil {
		return nil, err
	}
	m.finish()
	return r, nil
}

// measurement is a run in progress.
type measurement struct {
	plan     Plan
	sets     []Set
	peers    []Peer
	result   *Result
	cpu      [][][]float64 // by peer and set, seconds of each round
	progress func(string)
}

func (m *measurement) rounds(ctx context.Context) error {
	for i := range m.cpu {
		m.cpu[i] = make([][]float64, len(m.sets))
	}
	for round := range m.plan.Rounds {
		for s, set := range m.sets {
			programs := set.programs(m.plan.Slots)
			// Each round begins with another peer, so that none is always the first.
			for k := range m.peers {
				i := (k + round) % len(m.peers)
				m.progress(fmt.Sprintf("round %d of %d, %v, %s", round+1, m.plan.Rounds, set.Duration, m.peers[i].Name()))
				if err := m.one(ctx, i, s, programs); err != nil {
					return fmt.Errorf("%s, tasks of %v: %w", m.peers[i].Name(), set.Duration, err)
				}
			}
		}
	}
	return nil
}

// one runs a set on a peer.
func (m *measurement) one(ctx context.Context, i, s int, programs [][]string) error {
	into := &m.result.Peers[i].Sets[s]
	into.Load = append(into.Load, float64(measure.LoadAverage()))
	foreign, err := foreignShare(ctx)
	if err != nil {
		return err
	}
	into.Foreign = append(into.Foreign, foreign)
	busy, _ := measure.BusySeconds() // 0 where it is not known
	began := time.Now()
	if err := m.peers[i].Run(ctx, programs); err != nil {
		return err
	}
	into.Total = append(into.Total, time.Since(began).Seconds())
	after, _ := measure.BusySeconds()
	m.cpu[i][s] = append(m.cpu[i][s], (after-busy)/float64(into.Tasks))
	return nil
}

// quiet is how long the machine is watched before a set, while all peers are idle.
const quiet = 300 * time.Millisecond

// foreignShare returns which part of the processors is busy now, 0 to 1; 0 where the system
// does not report it.
func foreignShare(ctx context.Context) (float64, error) {
	before, _ := measure.BusySeconds()
	began := time.Now()
	if !delay.For(ctx, quiet) {
		return 0, context.Cause(ctx)
	}
	after, _ := measure.BusySeconds()
	return min(1, (after-before)/(time.Since(began).Seconds()*float64(runtime.NumCPU()))), nil
}

// finish turns the times into the reported figures.
func (m *measurement) finish() {
	for i := range m.result.Peers {
		peer := &m.result.Peers[i]
		for s := range peer.Sets {
			of := &peer.Sets[s]
			slices.Sort(of.Total)
			slices.Sort(m.cpu[i][s])
			of.Median, of.CPU = median(of.Total), median(m.cpu[i][s])
			work := m.sets[s].Duration.Seconds() * float64(m.sets[s].Each) // of one slot
			of.Over = of.Median - measure.Number(work)
			of.Rate = measure.Number(float64(of.Tasks)) / of.Median
			of.Utilization = measure.Number(work) / of.Median
		}
	}
}

func median(sorted []float64) measure.Number {
	n := len(sorted)
	return measure.Number((sorted[(n-1)/2] + sorted[n/2]) / 2)
}
