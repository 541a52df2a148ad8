package failover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos/network"
)

// Kinds of failures.
const (
	MasterCrash     = "master-crash"
	MasterPause     = "master-pause"
	MasterPartition = "master-partition"
	FrontendLost    = "frontend-lost"
	NATSLost        = "nats-lost"
	ProcessKilled   = "process-killed"
	NodeLost        = "node-lost"
	FrontendRestart = "frontend-restart"
	MasterRestart   = "master-restart"
)

// Options describe what is measured.
type Options struct {
	Runs     int      // of each kind
	Kinds    []string // nil: all that are possible here
	Dir      string   // keeps logs and journals
	Progress func(string)
}

// kind is a failure and what is measured.
type kind struct {
	name, means, until string
	goal, most         time.Duration // of p50 and p99; 0: none
	network            bool          // it needs hosts of the daemons' own
	alone              bool          // the cluster has no standbys
	every, lasts       time.Duration // a job of one task is submitted each time, and lasts so long; 0: jobEvery, taskLasts
}

// nextLaunch ends the pause of a failure that stops all launches for a time.
const nextLaunch = "the next launch"

// kinds are all kinds of failures.
//
// When a node is lost the other one has a free slot for each of its tasks: the pause is not one of
// waiting for slots.
var kinds = []kind{
	{name: MasterCrash, means: "a leading master killed (SIGKILL)", until: nextLaunch, goal: 600 * time.Millisecond, most: time.Second},
	{name: MasterPause, means: "a leading master paused (SIGSTOP) for 6 s", until: nextLaunch, goal: 2 * time.Second, most: 2500 * time.Millisecond},
	{name: MasterPartition, means: "a leading master cut off from all others for 6 s", until: nextLaunch, goal: 2 * time.Second, most: 2500 * time.Millisecond, network: true},
	{name: FrontendLost, means: "a frontend killed and its disk removed", until: "its standby has accepted another result of a job", goal: 2 * time.Second, most: 3 * time.Second},
	{name: NATSLost, means: "one of three NATS servers killed", until: "(length of the longest time without a launch)", most: 500 * time.Millisecond},
	{name: ProcessKilled, means: "the process of a task killed (SIGKILL)", until: "the task has started again", goal: 50 * time.Millisecond, most: 250 * time.Millisecond, alone: true, every: 300 * time.Millisecond, lasts: time.Second},
	{name: NodeLost, means: "a node killed with its tasks (SIGKILL)", until: "all of these have started again", goal: 2 * time.Second, most: 2500 * time.Millisecond, alone: true, every: 600 * time.Millisecond, lasts: time.Second},
	{name: FrontendRestart, means: "a frontend without a standby killed and started again", until: "it serves", goal: 300 * time.Millisecond, most: time.Second, alone: true},
	{name: MasterRestart, means: "a master without a standby killed and started again", until: nextLaunch, goal: 1200 * time.Millisecond, most: 2 * time.Second, alone: true},
}

// Kinds returns the names of all kinds.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// NeedsNetwork reports whether a kind needs hosts of the daemons' own.
func NeedsNetwork(name string) bool {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	return i >= 0 && kinds[i].network
}

// Check refuses options that cannot work.
func (o *Options) Check() error {
	if o.Runs < 1 || o.Runs > 1000 {
		return fmt.Errorf("--runs %d is outside 1 to 1000; nothing was started", o.Runs)
	}
	for _, name := range o.Kinds {
		if !slices.Contains(Kinds(), name) {
			return fmt.Errorf("there is no kind of failure %q; the kinds are %s; nothing was started", name, strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

// wanted returns the kinds that are measured, and what is left out.
func (o *Options) wanted() (list []kind, leftOut []string) {
	for _, k := range kinds {
		switch {
		case len(o.Kinds) > 0 && !slices.Contains(o.Kinds, k.name):
		case k.network && !network.Entered():
			leftOut = append(leftOut, k.name+": this program may not make network namespaces here")
		default:
			list = append(list, k)
		}
	}
	return list, leftOut
}
