// Package simulation has the verb "sim", and the flags of workloads and clusters that it shares with the
// verbs of the laboratory.
package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/spf13/pflag"
)

// Flags are the workload and cluster flags that sim, replay and
// compare share.
type Flags struct {
	Set      *pflag.FlagSet
	Workload *workloadFlags
	Desc     experiment.Description
	groups   int
	Sizes    []int
	shares   []string
	classes  string
}

// AddFlags adds the flags of a workload and its cluster.
func AddFlags(fs *pflag.FlagSet) *Flags {
	e := &Flags{Set: fs, Workload: AddWorkloadFlags(fs)}
	fs.StringVar(&e.Desc.Trace, "trace", "gen:ec2", "file in the published format, or gen:NAME[,key=value...] (see pigeon-bench trace --help)")
	fs.StringArrayVar(&e.Desc.Policies, "policy", []string{"pigeon"}, "NAME[:key=value,...]; repeatable")
	fs.IntVar(&e.groups, "groups", 3, "groups, of equal size")
	fs.IntSliceVar(&e.Sizes, "group-sizes", nil, "workers of each group, such as 60,40,20, instead of --workers and --groups")
	fs.IntSliceVar(&e.Desc.NodeSlots, "slots-per-node", nil, "slots of each simulated node, or of one node after the other, such as 16,8 (default: nodes of one slot)")
	fs.IntVar(&e.Desc.Frontends, "frontends", 10, "frontends; the job of line k goes to number k mod this")
	fs.Float64Var(&e.Desc.Reserved, "reserved", 0.10, "share of each group's workers that take short tasks only")
	fs.IntVar(&e.Desc.Weight, "weight", 0, "W: of W tasks taken from the queues one at least is long while long ones wait (0 = infinite)")
	fs.StringArrayVar(&e.shares, ShareFlag, nil, "OWNER=WEIGHT[,max=0.5][,min=0.1]: the share of an owner; repeatable (default: weight 1 for each)")
	fs.StringVar(&e.Desc.OwnersFile, "owners-file", "", "file with shares and half_life (see docs/shares.md)")
	fs.StringVar(&e.classes, "classes", "declared", "declared, or learned: frontends learn class and estimate of jobs that declare none from earlier ones of the same name, which --names gives and live runs submit only then")
	fs.DurationVar(&e.Desc.HalfLife, "half-life", 0, "of what the long class remembers of an owner's use, as --share (0: nothing)")
	fs.DurationVar(&e.Desc.Window, "window", time.Duration(measure.Window), "length of the spans of time in which owners' shares are compared")
	fs.IntVar(&e.Desc.Seeds, "seeds", 1, "number of seeds, from --seed on; each is a run of its own")
	return e
}

// Runs returns the runs that the flags describe. Every error is wrong use: nothing has
// been started.
func (e *Flags) Runs() ([]experiment.Run, error) {
	d, err := e.Description()
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	runs, err := d.Runs()
	return runs, cli.AsUsageError(err)
}

// Description returns what the flags describe; the list of policies and the trace may
// still be replaced.
func (e *Flags) Description() (experiment.Description, error) {
	d := e.Desc
	if err := e.cluster(&d); err != nil {
		return d, err
	}
	o, err := e.Workload.settings()
	if err == nil {
		err = e.readShares(&d)
	}
	if d.Learned = e.classes == "learned"; err == nil && !d.Learned && e.classes != "declared" {
		err = fmt.Errorf("--classes %q is neither declared nor learned; nothing was run; use one of these", e.classes)
	}
	d.Workload, d.Cutoff, d.Seed = o, e.Workload.Cutoff, o.Seed
	return d, err
}

// cluster fills in the sizes of the groups.
func (e *Flags) cluster(d *experiment.Description) error {
	o := &e.Workload.Options
	if len(e.Sizes) == 0 {
		if o.Workers < 1 {
			return fmt.Errorf("--workers %d is too few: give at least 1", o.Workers)
		}
		if e.groups < 1 || e.groups > o.Workers || e.groups > experiment.MaxGroups {
			return fmt.Errorf("--groups %d cannot share %d workers; give 1 to %d groups", e.groups, o.Workers, min(o.Workers, experiment.MaxGroups))
		}
		d.Groups = experiment.EvenGroups(o.Workers, e.groups)
		return nil
	}
	if slices.Min(e.Sizes) < 1 {
		return fmt.Errorf("--group-sizes %s has a group without workers; give each group at least one", join(e.Sizes))
	}
	d.Groups = e.Sizes
	for flag, value := range map[string][2]int{"workers": {o.Workers, d.Workers()}, "groups": {e.groups, len(e.Sizes)}} {
		if e.Set.Changed(flag) && value[0] != value[1] {
			return fmt.Errorf("--%s %d conflicts with --group-sizes %s, which sets it to %d; leave --%s out", flag, value[0], join(e.Sizes), value[1], flag)
		}
	}
	o.Workers = d.Workers()
	return nil
}

func join(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]")
}
