package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/policy"
)

// Options describe a run.
type Options struct {
	Seed   uint64
	Policy string
	Lasts  time.Duration // of the faults; the run ends when all is healed and done
	Rate   float64       // faults a second
	Kinds  []string      // of faults; nil: all that can be injected here
	Faults int           // no more than this many; 0: no limit
	Jobs   float64       // a second
	// Standbys gives each master and each frontend a standby, and the cluster three NATS
	// servers with JetStream. Kinds of faults that need them imply it.
	Standbys bool
	Binary   string // the program of the daemons; "": this one
	Beside   string // the program of every second daemon of a role, where they have their own hosts; "": the same
	// JournalFaults are those of the disk of frontend 0 (its setting journal_faults); "": none.
	JournalFaults string
	Spark         *Applications // in the mix; nil: none
	Dir           string        // keeps logs, journals and histories
	Progress      func(string)
}

// Size of the cluster, that of the run in which losses were found first.
const (
	frontends     = 2
	nodesPerGroup = 2
	groups        = 2
	slotsPerNode  = 2
	reservedShare = 0.25
)

// choose completes the kinds and what they imply.
func (o *Options) choose() {
	if len(o.Kinds) == 0 {
		o.Kinds = slices.DeleteFunc(Kinds(), func(k string) bool { return NeedsStandbys(k) && !o.Standbys })
	}
	o.Standbys = o.Standbys || slices.ContainsFunc(o.Kinds, NeedsStandbys)
}

// withFailingDisk is the frontend whose journal's disk fails as the options say.
const withFailingDisk = 0

// withSmallDisk is the frontend whose journal is on a small disk.
const withSmallDisk = 1

// Check refuses options that cannot work.
func (o *Options) Check() error {
	for _, k := range o.Kinds {
		if !slices.Contains(Kinds(), k) {
			return fmt.Errorf("there is no kind of fault %q; the kinds are %s; nothing was started", k, strings.Join(Kinds(), ", "))
		}
	}
	name, _, _ := strings.Cut(cmp.Or(o.Policy, "pigeon"), ":")
	switch {
	case !slices.Contains(policy.Names(), name):
		return fmt.Errorf("there is no policy %q; the policies are %s; nothing was started", name, strings.Join(policy.Names(), ", "))
	case !(o.Rate >= 0 && o.Rate <= 20): // NaN is outside too
		return fmt.Errorf("%v faults a second are outside 0 to 20; nothing was started", o.Rate)
	case o.Lasts < time.Second || o.Lasts > 24*time.Hour:
		return fmt.Errorf("%v is outside 1s to 24h; nothing was started", o.Lasts)
	case !(o.Jobs > 0 && o.Jobs <= 50):
		return fmt.Errorf("%v jobs a second are outside 0 to 50; nothing was started", o.Jobs)
	case o.Spark != nil && o.Spark.Check() != nil:
		return o.Spark.Check()
	case o.Faults < 0:
		return fmt.Errorf("%d faults are fewer than none; nothing was started", o.Faults)
	}
	return nil
}
