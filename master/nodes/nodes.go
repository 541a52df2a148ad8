package nodes

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Core is the scheduling core of the group, where the policy has one.
type Core interface {
	// Step passes on a message of another core, StepShell one of the shell.
	Step(from sched.Addr, m *sched.Message)
	StepShell(m *sched.Message)
}

// Links are the links to the nodes; a *link.Set is one.
type Links interface {
	Add(peer wire.Ref, address string, incarnation int64)
	Open(peer wire.Ref) error
	Up(peer wire.Ref) bool
	Remove(peer wire.Ref)
}

// Jobs keeps the names of jobs; a *payloads.Store is one.
type Jobs interface {
	Adopt(id sched.JobID, name, ownerAddress string)
	Name(id sched.JobID) string // "" for a job that is not known
}

// Config is what [Nodes] works with.
type Config struct {
	Group     int
	Policy    sched.Policy
	LostAfter time.Duration
	Addrs     *addrmap.Map
	Core      Core
	Links     Links
	Jobs      Jobs
	Departed  *protocol.Departures // of daemons of all roles; the nodes record theirs
	Changed   func()               // is called when the membership has changed
	Now       func() sched.Time
	Log       *slog.Logger
}

// Nodes is the table of the registered nodes. It belongs to the owner goroutine.
type Nodes struct {
	cfg      Config
	registry *protocol.Registry
	numbers  *protocol.Numbers
	byName   map[string]*node
	byWorker map[int32]*node
	lives    int64 // registrations so far
}

// node is a registered node monitor.
type node struct {
	ref            wire.Ref
	incarnation    int64
	address        string
	memory         int64  // MB for the processes of applications
	host           string // as applications know it
	slots          map[int32]*slot
	up             bool         // messages reach it
	draining       bool         // it takes nothing new
	stopsWhenEmpty bool         // that is because its node monitor is about to stop
	present        wire.Present // the executors there
	diskFault      string       // why it takes nothing new, when its disk is at fault
	life           int64        // distinguishes the registrations of nodes
	sequence       uint64       // of the last hello or snapshot that was applied
	successor      *successor   // nil unless the next process has taken attempts over
	version        string
	features       []string   // what its version can do beyond what every version can
	since          sched.Time // when its state began, as users see it
	problem        string     // why messages do not reach it, while they do not
	stopping       bool       // its node monitor stops in order
	awayUntil      sched.Time // it is being started again and need not report before then; 0: it is not
	overdue        bool       // it would be lost if it were not away
}

// New returns an empty table.
func New(c Config) *Nodes {
	limit := sched.Time(c.LostAfter)
	return &Nodes{
		cfg: c, registry: protocol.NewRegistry(limit/protocol.SweepsToLoss, limit), numbers: protocol.NewNumbers(addrmap.Limit, protocol.DefaultRest),
		byName: map[string]*node{}, byWorker: map[int32]*node{},
	}
}

// Len counts the nodes.
func (t *Nodes) Len() int { return len(t.byName) }

// AllKnow reports whether the version of each node has a feature.
func (t *Nodes) AllKnow(feature string) bool {
	for _, n := range t.byName {
		if !slices.Contains(n.features, feature) {
			return false
		}
	}
	return true
}

// Has reports whether a worker is registered.
func (t *Nodes) Has(worker sched.Addr) bool { return t.byWorker[worker.ID] != nil }

// FollowsAnother records that there was a master before this one.
func (t *Nodes) FollowsAnother() {
	if t.cfg.Policy.SingleMaster() { // otherwise no node has a number from that master
		t.numbers.FollowsAnother(t.cfg.Now())
	}
}

// ReserveNumbers records the highest worker number, plus one, that a peer reports.
func (t *Nodes) ReserveNumbers(highest int32) { t.numbers.Reserve(highest, t.cfg.Now()) }

// Deliver steps the messages of a node's slots into the core, after seen was called for
// each. It reports whether the sender is registered: a node that was lost or restarted is not.
func (t *Nodes) Deliver(b *wire.Batch, seen func(*sched.Message)) (registered bool) {
	if !t.registry.Registered(b.Sender.Name, b.Incarnation) {
		return false
	}
	n := t.byName[b.Sender.Name]
	for i := range b.Items {
		it := &b.Items[i]
		if s := n.slots[it.From.Slot]; s != nil {
			seen(&it.Msg)
			t.cfg.Core.Step(s.worker, &it.Msg)
		}
	}
	return true
}

// Members lists the nodes for the membership, in the order of their names.
func (t *Nodes) Members() []wire.MemberNode {
	list := make([]wire.MemberNode, 0, len(t.byName))
	for _, n := range t.sorted() {
		list = append(list, wire.MemberNode{
			Name: n.ref.Name, Address: n.address, Incarnation: n.incarnation, Numbers: t.numbersOf(n), Slots: len(n.slots), Memory: n.memory, Host: n.host, Draining: n.draining, DiskFault: n.diskFault,
		})
	}
	return list
}

// numbersOf returns the numbers of a node's workers plus one, by slot.
func (t *Nodes) numbersOf(n *node) []int32 {
	if !t.cfg.Policy.SingleMaster() || len(n.slots) == 0 {
		return nil
	}
	slots := n.sorted()
	list := make([]int32, slots[len(slots)-1]+1)
	for _, slot := range slots {
		list[slot] = n.slots[slot].worker.ID + 1
	}
	return list
}

func (t *Nodes) sorted() []*node {
	list := make([]*node, 0, len(t.byName))
	for _, name := range slices.Sorted(maps.Keys(t.byName)) {
		list = append(list, t.byName[name])
	}
	return list
}

// sorted returns the numbers of the node's slots.
func (n *node) sorted() []int32 { return slices.Sorted(maps.Keys(n.slots)) }

// lose removes a lost node with all its slots. ended means that its process is known to have
// ended.
func (t *Nodes) lose(n *node, ended bool, reason string) {
	t.depart(n, reason)
	if more := n.unlisted(); more > 0 {
		t.cfg.Log.Warn("a lost node kept more results than it lists; their tasks are tried again when their frontends miss them", "node", n.ref.Name, "results", more)
	}
	for _, slot := range n.sorted() {
		t.removeSlot(n, slot, ended, reason)
	}
	delete(t.byName, n.ref.Name)
	t.registry.Remove(n.ref.Name, t.cfg.Now())
	t.cfg.Changed()
	t.cfg.Links.Remove(n.ref) // a launch must not arrive after its attempt was reported lost
}

// Sweep removes the nodes that have been silent for too long.
func (t *Nodes) Sweep() {
	for _, name := range t.registry.Sweep(t.cfg.Now()) {
		if n := t.byName[name]; !t.waitsFor(n) {
			t.lose(n, false, fmt.Sprintf("it was silent for %v", t.cfg.LostAfter))
		}
	}
	t.loseOverdue()
}

// Forget forgets the names of nodes that were lost that long ago, and returns them.
func (t *Nodes) Forget(after time.Duration) []string {
	return t.registry.Forget(sched.Time(after), t.cfg.Now())
}
