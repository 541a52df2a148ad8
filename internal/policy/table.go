package policy

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/policy/eagle"
	"github.com/pigeon-sched/pigeon/internal/policy/fifo"
	"github.com/pigeon-sched/pigeon/internal/policy/hawk"
	"github.com/pigeon-sched/pigeon/internal/policy/kairos"
	"github.com/pigeon-sched/pigeon/internal/policy/peacock"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/policy/priority"
	"github.com/pigeon-sched/pigeon/internal/policy/random"
	"github.com/pigeon-sched/pigeon/internal/policy/sparrow"
	"github.com/pigeon-sched/pigeon/internal/policy/static"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// entry is a policy that users can choose.
type entry struct {
	name string
	// open returns what makes the policy, and the parameters that change p and what
	// is made: a policy's own numbers are options of its package, which its cores
	// keep.
	open func(p *sched.Params) (build func() sched.Policy, parameters []parameter)
	// apart keeps the policy out of comparisons that do not name it.
	apart bool
}

// table lists the policies. A new one is one line here; one with parameters has a
// function below as well.
func table() []entry {
	return []entry{
		{name: pigeon.Name, open: openPigeon},
		{name: pigeon.NameSort, open: openPigeonSort},
		{name: pigeon.NameX, open: openPigeonX},
		{name: sparrow.Name, open: openSparrow},
		{name: hawk.Name, open: openHawk},
		{name: eagle.Name, open: openEagle},
		{name: fifo.Name, open: plain(fifo.Policy)},
		{name: priority.Name, open: openPriority},
		{name: peacock.Name, open: openPeacock},
		{name: kairos.Name, open: openKairos},
		{name: static.Name, open: openStatic, apart: true},
		{name: random.Name, open: plain(random.Policy), apart: true},
	}
}

func openPigeon(p *sched.Params) (func() sched.Policy, []parameter) {
	fanout := false
	build := func() sched.Policy {
		if fanout {
			return pigeon.FanoutPolicy()
		}
		return pigeon.Policy()
	}
	return build, []parameter{weight(p), reserved(p), either("order", &fanout, "arrival", "fanout")}
}

func openPeacock(*sched.Params) (func() sched.Policy, []parameter) {
	o := &peacock.Options{}
	return func() sched.Policy { return peacock.Policy(*o) }, []parameter{span("interval", &o.Interval), choice("printed", &o.Printed)}
}

// plain opens a policy without parameters.
func plain(build func() sched.Policy) func(*sched.Params) (func() sched.Policy, []parameter) {
	return func(*sched.Params) (func() sched.Policy, []parameter) { return build, nil }
}

func openPriority(p *sched.Params) (func() sched.Policy, []parameter) {
	return priority.Policy, []parameter{reserved(p)}
}

func openKairos(*sched.Params) (func() sched.Policy, []parameter) {
	o := kairos.Defaults()
	return func() sched.Policy { return kairos.Policy(o) }, []parameter{
		whole("cores", &o.Cores, 1, maxCores), whole("q", &o.Extra, 1, maxExtra), whole("s", &o.Passes, 0, maxPasses),
		spanFrom("quantum", &o.Quantum, kairos.MinQuantum, "of 1us or more"), spanFrom("heartbeat", &o.Heartbeat, kairos.MinQuantum, "of 1us or more"),
	}
}

// Upper bounds of settings.
const (
	maxCores  = 1000      // slots of a node
	maxExtra  = 1000      // tasks that a node holds suspended
	maxPasses = 1_000_000 // quanta
	maxRatio  = 100       // probes for each task
	maxLeast  = 10_000    // probes for each job
	maxTries  = 10_000    // workers asked each time one turns idle
	maxParts  = 10_000    // partitions
)

func openStatic(*sched.Params) (func() sched.Policy, []parameter) {
	o := static.Defaults()
	return func() sched.Policy { return static.Policy(o) }, []parameter{whole("owners", &o.Owners, 1, maxParts)}
}

func openSparrow(*sched.Params) (func() sched.Policy, []parameter) {
	o := sparrow.Defaults()
	return func() sched.Policy { return sparrow.Policy(o) }, []parameter{number("ratio", &o.Ratio, 1, maxRatio), choice("cancel", &o.Cancel)}
}

func openHawk(p *sched.Params) (func() sched.Policy, []parameter) {
	o := hawk.Defaults()
	return func() sched.Policy { return hawk.Policy(o) },
		[]parameter{reserved(p), number("ratio", &o.Ratio, 1, maxRatio), whole("tries", &o.Tries, 0, maxTries)}
}

func openEagle(p *sched.Params) (func() sched.Policy, []parameter) {
	o := eagle.Defaults()
	return func() sched.Policy { return eagle.Policy(o) }, []parameter{
		reserved(p), number("ratio", &o.Ratio, 1, maxRatio), whole("least", &o.Least, 1, maxLeast), number("slack", &o.Slack, 0, math.MaxInt32),
	}
}
