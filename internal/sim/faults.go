package sim

import (
	"fmt"
	"io"
	"math/bits"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/nearest"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Faults holds the settings of a run with faults. Such a run checks; it does not
// measure: the cores are surrounded by daemons that send heartbeats, register again,
// retransmit and keep a journal.
type Faults struct {
	Seed  uint64     // of all draws
	Kinds Kinds      // the kinds of faults that may happen
	Until sched.Time // no fault happens later, and the cluster heals
	Only  []int      // the numbers of the planned faults that happen; nil for all
	Log   io.Writer  // receives a line for each fault as it happens; nil for none

	Nodes    [][]Node // of each group; nil: two workers per node, which serve the built-in backends
	Apps     []string // from which the jobs' applications are drawn; nil: the built-in backends
	MaxTasks int      // queued at a master, 0 for no limit
	// Weight is W if it is to be checked: of any W tasks that general workers take
	// from the queues, one is long while long ones wait. 0 for no check.
	Weight int
	// NoFence makes nodes accept what a former master sends, and the replicated journal
	// what a former frontend writes: the negative control, which the checks must catch.
	NoFence bool
	manual  bool // set by tests that deliver messages and advance time themselves
	// Observe is called after every step of a master, before the actions are carried
	// out; nil for no observer.
	Observe func(m sched.MasterCore, in *sched.Message, out []sched.Action) error
}

// Node describes one machine.
type Node struct {
	Slots    int
	Serves   []string // applications, sorted
	Fixed    bool     // the owner of the slots chose whether they are reserved
	Reserved bool     // with Fixed: the owner's choice
}

// Kinds is a set of kinds of faults.
type Kinds uint16

// The kinds of faults.
const (
	Loss          Kinds = 1 << iota // a notice or an acknowledgement is lost; a message on a link is retransmitted late
	Repeat                          // a notice, or a batch of messages, arrives twice
	Reorder                         // notices overtake each other, and so do messages of different links
	Partition                       // one daemon cannot reach another, in one direction or both, for a while
	CrashNode                       // a node monitor dies, with its tasks, and restarts
	CrashMaster                     // a master dies and restarts
	CrashFrontend                   // a frontend dies, perhaps between two records of one step, loses records that are not on its disk, and restarts
	Pause                           // a daemon is paused
	Drift                           // clocks start at different instants and run at different speeds
	Suspect                         // a daemon declares a live one lost
	Cancel                          // a job is cancelled
	Fail                            // a task fails
	Failover                        // a master's machine dies for good, hangs or is cut off, and a standby leads its group
	Takeover                        // a frontend's machine and disk are gone, or it hangs, and a standby continues its jobs from the replicated journal
	LoseNode                        // a node's machine never returns; later another one takes its place
	AllKinds      Kinds = 1<<iota - 1
)

var kindNames = [...]string{"loss", "repeat", "reorder", "partition", "crash-node", "crash-master", "crash-frontend", "pause", "drift", "suspect", "cancel", "fail", "failover", "takeover", "lose-node"}

// String returns the names of the kinds, separated by commas, or "none".
func (k Kinds) String() string {
	if k == 0 {
		return "none"
	}
	var names []string
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Has reports whether all of the given kinds are in the set.
func (k Kinds) Has(other Kinds) bool { return k&other == other }

// Each returns the kinds of the set one by one.
func (k Kinds) Each() (list []Kinds) {
	for ; k != 0; k &= k - 1 {
		list = append(list, 1<<bits.TrailingZeros16(uint16(k)))
	}
	return list
}

// FaultCounts are the numbers of faults of each kind, in the order of the kinds. Drift, which
// every clock has, is not counted.
type FaultCounts [15]int64

func (c *FaultCounts) add(k Kinds) { c[bits.TrailingZeros16(uint16(k))]++ }

// Of returns the number of faults of one kind.
func (c *FaultCounts) Of(k Kinds) int64 { return c[bits.TrailingZeros16(uint16(k))] }

// Add adds the numbers of another run.
func (c *FaultCounts) Add(other *FaultCounts) {
	for i := range c {
		c[i] += other[i]
	}
}

// ParseKinds parses the format of String; "all" stands for all kinds.
func ParseKinds(text string) (k Kinds, err error) {
	switch text {
	case "all":
		return AllKinds, nil
	case "none":
		return 0, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		found := Kinds(0)
		for i, known := range kindNames {
			if name == known {
				found = 1 << i
			}
		}
		if found == 0 {
			return 0, fmt.Errorf("the kind of fault %q is unknown; did you mean %q? There are all, none, %s", name, nearest.Word(name, kindNames[:]), strings.Join(kindNames[:], ", "))
		}
		k |= found
	}
	return k, nil
}

// nodes returns the machines of each group of the cluster.
func (f *Faults) nodes(cfg *Config) [][]Node {
	groups, slots := f.Nodes, 2*cfg.Policy.SlotsPerWorker()
	if groups == nil {
		for _, size := range cfg.Groups {
			var group []Node
			for ; size > 0; size -= slots {
				group = append(group, Node{Slots: min(slots, size), Serves: []string{""}})
			}
			groups = append(groups, group)
		}
	}
	if !cfg.Policy.SingleMaster() {
		return groups
	}
	var all []Node
	for _, g := range groups {
		all = append(all, g...)
	}
	return [][]Node{all}
}
