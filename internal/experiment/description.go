package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/nearest"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Description is the value of the workload and cluster flags: one run for every
// policy and seed.
type Description struct {
	// Trace is a file in the published format or gen:NAME[,key=value...].
	Trace string
	// Workload shapes it. Its Workers, Cutoff and Seed are set from below.
	Workload workload.Options
	// Policies are NAME[:key=value,...], each run with every seed.
	Policies []string
	// Groups holds the number of workers of each group.
	Groups []int
	// NodeSlots are the slots of the nodes of each group, in turn; nil: nodes of one slot.
	NodeSlots []int `json:",omitempty"`
	// Frontends: the job of line k goes to frontend k mod Frontends.
	Frontends int
	// Reserved is the share of each group's workers for short tasks only.
	Reserved float64
	// Cutoff: a job is short up to this mean task duration.
	Cutoff time.Duration
	// Weight is W of the policy; 0 is infinite.
	Weight int
	// Shares are the configured shares of owners; the masters receive them at their start.
	Shares []sched.Share
	// OwnersFile is the file that the shares come from, for the masters of live runs; "" for none.
	OwnersFile string
	// Learned: frontends, simulated and live, learn classes and estimates from earlier jobs of a
	// name. Otherwise jobs have no names.
	Learned bool
	// HalfLife is that of what the long class remembers of an owner's use, in the workload's
	// time; 0: nothing.
	HalfLife time.Duration
	// Window is the length of the spans of time over which owners' shares are compared, in the
	// workload's time; 0 is measure.Window.
	Window time.Duration
	// Seed is the first of Seeds consecutive ones.
	Seed  uint64
	Seeds int
}

// Bounds of a description; each refusal names the one it met.
const (
	MaxWorkers   = 1_000_000
	MaxGroups    = 32_768
	MaxFrontends = 10_000
	MaxSeeds     = 100_000
)

// Run is one run: a policy with a seed on the described cluster and workload.
type Run struct {
	Description *Description
	// Policy is the policy as the user named it; Cores are its cores.
	Policy string
	Cores  sched.Policy
	Params sched.Params
	Seed   uint64

	raw *workload.Workload
}

// Runs checks the description and returns its runs, policies in the order of the flags
// and the seeds of each in ascending order. Every mistake is
// detected here, before anything is started.
func (d *Description) Runs() ([]Run, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	raw, err := d.open()
	if err != nil {
		return nil, err
	}
	var runs []Run
	for _, spec := range d.Policies {
		cores, params, err := policy.Configure(spec, d.params())
		if err != nil {
			return nil, err
		}
		cluster := sim.Config{Policy: cores, Params: params, Groups: d.Groups, NodeSlots: d.NodeSlots, Frontends: d.Frontends}
		if err := cluster.Valid(); err != nil {
			return nil, fmt.Errorf("%w; nothing was run", err)
		}
		for k := range d.Seeds {
			runs = append(runs, Run{Description: d, Policy: spec, Cores: cores, Params: params, Seed: d.Seed + uint64(k), raw: raw})
		}
	}
	w, err := runs[0].Workload()
	if err != nil { // transforms fail for every seed or for none
		return nil, err
	}
	return runs, checkDemands(runs, w)
}

// halfLife is in the time of the run.
func (d *Description) halfLife() sched.Time {
	return sched.Time(float64(d.HalfLife) / d.Speedup())
}

// params returns the parameters of the cores, in the time of the run.
func (d *Description) params() sched.Params {
	return sched.Params{Cutoff: sched.Time(float64(d.Cutoff) / d.Speedup()), Weight: d.Weight, Reserved: d.Reserved}
}

// open reads the trace. A generator's load refers to this cluster's workers
// unless its specification names others.
func (d *Description) open() (*workload.Workload, error) {
	spec := d.Trace
	if strings.HasPrefix(spec, "gen:") && !givesWorkers(spec) {
		spec = fmt.Sprintf("%s,workers=%d", spec, d.Workers())
	}
	w, err := workload.Open(spec)
	if err != nil {
		return nil, suggestFile(spec, err)
	}
	w.Name = d.Trace
	return w, nil
}

// givesWorkers reports whether a generator's specification names the workers, with spaces around the
// key or without, as it is read.
func givesWorkers(spec string) bool {
	return slices.ContainsFunc(strings.Split(spec, ","), func(argument string) bool {
		key, _, _ := strings.Cut(argument, "=")
		return strings.TrimSpace(key) == "workers"
	})
}

// suggestFile adds to the error of a missing trace the file in its folder with the
// nearest name.
func suggestFile(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	files, _ := os.ReadDir(filepath.Dir(path)) // without the folder there is none to name
	var names []string
	for _, f := range files {
		if !f.IsDir() {
			names = append(names, f.Name())
		}
	}
	meant := nearest.Close(filepath.Base(path), names)
	if meant == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean %q?", err, filepath.Join(filepath.Dir(path), meant))
}

// Workload returns the jobs of the run, in the time of the run (sped up). They
// are computed at every call, so that the jobs of many seeds need not be held in memory.
func (r *Run) Workload() (*workload.Workload, error) {
	d := r.Description
	o := d.Workload
	o.Workers, o.Cutoff, o.Seed = d.Workers(), d.Cutoff.Nanoseconds(), r.Seed
	if !d.Learned {
		o.Names = nil // live frontends would learn by them, and simulated ones do not
	}
	return r.raw.Prepare(o)
}

// WithoutFlood returns the same run without the jobs of the owner that floods, false when none
// does.
func (r *Run) WithoutFlood() (Run, bool) {
	o := r.Description.Workload.Owners
	if o == nil || o.Flood == 0 || o.Absent {
		return *r, false
	}
	owners, description, run := *o, *r.Description, *r
	owners.Absent, description.Workload.Owners, run.Description = true, &owners, &description
	return run, true
}

// Workers returns the number of workers of all groups.
func (d *Description) Workers() int {
	n := 0
	for _, g := range d.Groups {
		n += g
	}
	return n
}

// Speedup returns how many times as fast as the workload the run is, 1 by default.
func (d *Description) Speedup() float64 { return cmp.Or(d.Workload.Speedup, 1) }

func (d *Description) check() error {
	o := &d.Workload
	for _, c := range []struct {
		what     string
		value    float64
		min, max float64
	}{
		{"number of policies", float64(len(d.Policies)), 1, 1000},
		{"number of groups", float64(len(d.Groups)), 1, MaxGroups},
		{"number of workers", float64(d.Workers()), 1, MaxWorkers},
		{"number of frontends", float64(d.Frontends), 1, MaxFrontends},
		{"reserved share", d.Reserved, 0, 1},
		{"cutoff in seconds", d.Cutoff.Seconds(), 1e-9, workload.MaxSeconds},
		{"window in seconds", d.Window.Seconds(), 0, workload.MaxSeconds},
		{"half-life in seconds", d.HalfLife.Seconds(), 0, workload.MaxSeconds},
		{"weight", float64(d.Weight), 0, math.MaxInt32},
		{"speedup", d.Speedup(), 1e-3, 1e9},
		{"number of seeds", float64(d.Seeds), 1, MaxSeeds},
		{"load", o.Load, 0, 1000},
		{"number of jobs to draw", float64(o.Resample), 0, workload.MaxJobs},
		{"number of first jobs", float64(o.Jobs), 0, workload.MaxJobs},
		{"share of wrong classes", o.WrongClass, 0, 1},
		{"share of undeclared jobs", o.Undeclared, 0, 1},
		{"noise", o.Noise, 0, 10},
	} {
		if !(c.value >= c.min && c.value <= c.max) { // so written, NaN is refused
			return fmt.Errorf("the %s is %v, outside %v to %v; nothing was run", c.what, c.value, c.min, c.max)
		}
	}
	for g, size := range d.Groups {
		if size < 1 {
			return fmt.Errorf("group %d has %d workers; nothing was run; give each group at least one", g, size)
		}
	}
	return nil
}

// EvenGroups spreads workers over groups; the first ones get the remainder.
func EvenGroups(workers, groups int) []int {
	if groups < 1 || groups > MaxGroups {
		return nil
	}
	sizes := make([]int, groups)
	for g := range sizes {
		sizes[g] = workers / groups
		if g < workers%groups {
			sizes[g]++
		}
	}
	return sizes
}
