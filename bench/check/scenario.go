package check

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// What all runs have in common: the defaults of "pigeon sim".
const (
	delay  = 500 * time.Microsecond
	cutoff = time.Second
	jobs   = 30
	period = 20 * time.Second // during which faults happen, by default
)

// scenario is one run before it is made, with the flags of "pigeon sim" that describe it.
type scenario struct {
	run      *experiment.Run
	workload *workload.Workload
	time     time.Duration
	flags    []string
}

// prepare draws the cluster and the workload of a seed, and returns the run of a policy.
func prepare(spec string, seed uint64) (*scenario, error) { return prepareFirst(spec, seed, jobs) }

// prepareFirst is prepare with the first jobs only. They are the same jobs, so that a shorter
// run repeats a longer one: the load is the generator's, and no scaling depends on how many
// jobs there are.
func prepareFirst(spec string, seed uint64, first int) (*scenario, error) {
	r := rand.New(rand.NewPCG(seed, 0xfa017)) //nolint:gosec // a run that can be repeated
	groups := 1 + r.IntN(3)
	workers := 2 * groups * (1 + r.IntN(3))
	frontends := 1 + r.IntN(3)
	trace := fmt.Sprintf("gen:ec2,load=%s,seed=%d", []string{"0.5", "0.8", "1.2"}[r.IntN(3)], seed)
	d := experiment.Description{
		Trace: trace, Policies: []string{spec}, Groups: experiment.EvenGroups(workers, groups), Frontends: frontends,
		Reserved: 0.3, Cutoff: cutoff, Seed: seed, Seeds: 1, Workload: workload.Options{Jobs: first},
	}
	if r.IntN(2) == 0 {
		d.Weight = 2 + r.IntN(4)
	}
	people, err := drawOwners(r, &d)
	if err != nil {
		return nil, err
	}
	runs, err := d.Runs()
	if err != nil {
		return nil, err
	}
	w, err := runs[0].Workload()
	if err != nil {
		return nil, err
	}
	return &scenario{run: &runs[0], workload: w, flags: append([]string{
		"--trace", trace, "--seed", strconv.FormatUint(seed, 10), "--workers", strconv.Itoa(workers), "--groups", strconv.Itoa(groups), "--frontends", strconv.Itoa(frontends),
		"--reserved", fmt.Sprint(d.Reserved), "--weight", strconv.Itoa(d.Weight),
	}, people...)}, nil
}

// drawOwners gives the jobs of two of three runs owners, priorities and shares, and leaves some
// of the jobs of every second run undeclared. It returns the flags for that.
func drawOwners(r *rand.Rand, d *experiment.Description) (flags []string, err error) {
	if r.IntN(3) > 0 {
		owners := fmt.Sprintf("%d,skew=1,priorities=%d", 1+r.IntN(4), 1+r.IntN(3))
		if d.Workload.Owners, err = workload.ParseOwners(owners); err != nil {
			return nil, err
		}
		flags = append(flags, "--owners", owners)
		share, text := sched.Share{Owner: "o1", Weight: 2}, "o1=2"
		if d.Weight == 0 && r.IntN(2) == 0 { // the check of W knows of no owner at its limit
			share.Max, text = 0.5, "o1=2,max=0.5"
		}
		if r.IntN(2) == 0 {
			d.Shares, d.HalfLife = []sched.Share{share}, 10*time.Second
			flags = append(flags, "--share", text, "--half-life", d.HalfLife.String())
		}
	}
	if r.IntN(2) == 0 {
		d.Workload.Undeclared = 0.5
		flags = append(flags, "--declared", "0.5")
	}
	return flags, nil
}

// until returns the end of the faults of the run.
func (s *scenario) until(d time.Duration) sched.Time {
	if s.time = d; d <= 0 {
		s.time = period
	}
	return sched.Time(s.time)
}

// command returns the command that makes the run again, with other faults and only the
// first jobs.
func (s *scenario) command(f *sim.Faults, first int) string {
	words := []string{"pigeon", "sim", "--policy", s.run.Policy, "--faults", strconv.FormatUint(f.Seed, 10), "--fault-kinds", f.Kinds.String(), "--fault-time", s.time.String(), "--jobs", strconv.Itoa(first)}
	if f.Only != nil {
		words = append(words, "--only-faults", strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Only), " ", ","), "[]"))
	}
	return strings.Join(append(words, s.flags...), " ")
}
