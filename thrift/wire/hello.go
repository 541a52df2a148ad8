package wire

import (
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// maxStated bounds the texts of a hello that are shown in a refusal.
const maxStated = 1024

// maxFeatures bounds the features that a hello states.
const maxFeatures = 100

// MaxContinues bounds the processes that a hello continues.
const MaxContinues = 16

// Hello is the registration of a frontend or a node monitor with a master.
type Hello struct {
	Sender           Ref
	Incarnation      int64    // of the sender's process
	Epoch            uint64   // the highest it has seen of a master of this group
	EpochOf          int64    // the incarnation of that master, 0 if it is not known
	Address          string   // where it serves other daemons
	SchedulerAddress string   // frontends: where it serves applications
	Group            int      // whose master it assumes the receiver to be
	Highest          int32    // number of a worker that it has seen, plus one
	Policy           string   // that the sender is set to; "" from an older build
	Version          string   // of the sender's binary; "" from an older build
	Features         []string // what it can do beyond what every version can
	Token            uint64   // of a frontend's leadership; 0: it has its name alone
	Stopping         bool     // the sender stops in order; this is its last hello

	// Frontends only: daemons that departed, as the sender heard from earlier processes of the
	// master; and the last change of departures that it heard of, from the process of that
	// incarnation.
	Departed     []Departure
	Departures   int64
	DeparturesOf int64

	// Nodes only.
	Slots  []Slot
	Serves []string // applications that every slot serves which names none itself
	Memory int64    // MB for the processes of applications
	Host   string   // as applications know it
	// Continues is the processes before it whose attempts it has taken over, the latest last.
	// Complete means that the last of them has handed over everything: an attempt that the
	// hello does not name never began, or its result is acknowledged.
	Continues []int64
	Complete  bool
	// Draining is set when the node takes nothing new, and StopsWhenEmpty when it does so because its
	// node monitor stops as soon as nothing runs there.
	Draining       bool
	StopsWhenEmpty bool
	// Sequence counts the hellos and snapshots of this incarnation, from 1; 0: it does not count hellos.
	Sequence uint64
	// DiskFault is why the node takes nothing new by itself: the disk of its work folder does not take
	// what tasks write, or its guard does not answer. "" for another reason.
	DiskFault string
	Present   Present
}

// HelloReply is the master's answer.
type HelloReply struct {
	Sender      Ref // the master
	Incarnation int64
	Epoch       uint64
	Group       int
	Serves      []string // applications for which the group has a live worker
	Accepted    bool
	Problem     string // the reason of a refusal
	// Registration is another number each time the sender was not registered before as this
	// process; messages that it has sent since the number before may have been dropped.
	Registration int64
	// Numbers are those of the node's slots plus one, in the order of its hello,
	// under a policy whose workers are known to all by number. For a node that was not
	// accepted: those of its numbers that other live slots have. It cannot continue as
	// the same process.
	Numbers []int32
	Standby bool   // the answering master does not lead, and registers no daemon
	Leader  string // of a standby: where the master that leads serves; "" when it does not know
	// Version is that of the master's binary, "" from an older build; Features is what it
	// can do beyond what every version can.
	Version  string
	Features []string
	// Departed is, for a frontend, what has changed of the daemons that departed since the
	// change that its hello names; Departures is the number of the last of these changes.
	Departed   []Departure
	Departures int64
}

// Slot is one slot of a node by the node's own state.
type Slot struct {
	Slot            int32
	Seq             uint64
	Running         sched.AttemptID // Attempt 0: the slot is idle
	Class           sched.Class     // of the running attempt
	App             string          // of the running attempt
	Frontend        Ref             // the frontend of the running attempt
	FrontendAddress string
	JobName         string
	Owner           string     // the owner for which it runs
	Estimate        sched.Time // of a task of the running attempt's job; 0 for none
	Ran             sched.Time // how long that has run, suspensions left out

	Reserved bool              // short tasks only
	Fixed    bool              // its application chose Reserved
	Serves   []string          // nil: as the node
	Kept     []sched.AttemptID // ended here, not acknowledged by their frontend yet
	KeptMore int32             // of those, how many Kept leaves out
	Held     []Held            // in addition to the running attempt
	Number   int32             // of the worker in the cluster, plus one; 0 for none yet
}

// Held is an attempt that a slot holds besides the one that runs in it: suspended,
// or waiting for its turn in the slot's own queue.
type Held struct {
	ID              sched.AttemptID
	Class           sched.Class
	App             string
	Frontend        Ref
	FrontendAddress string
	JobName         string
	Owner           string // the owner for which it runs
	Estimate        sched.Time
	Suspended       bool
}

// Present is the executors of applications on a node.
type Present struct {
	Applications []string // that have some, each once
	Executors    int
}

// Snapshot is a node's heartbeat: all its slots.
type Snapshot struct {
	Sender      Ref
	Incarnation int64
	Epoch       uint64 // of the master it works for
	Sequence    uint64 // as that of [Hello]
	Slots       []Slot // Serves may be left out
	// ListsKept reports whether Kept and KeptMore of the slots list the results that are
	// kept for some seconds. Otherwise those of an earlier snapshot hold.
	ListsKept bool
	// Stopping reports whether the node monitor stops in order; this is its last snapshot.
	Stopping       bool
	Draining       bool   // the node takes nothing new
	StopsWhenEmpty bool   // as that of [Hello]
	DiskFault      string // likewise
	Present        Present
	// Away is how long at most the node will be silent, because its node monitor is about
	// to be started again and running attempts continue.
	Away time.Duration
}

// SnapshotReply is the master's answer.
type SnapshotReply struct {
	Incarnation int64
	Epoch       uint64
	Known       bool   // false: the node must send its hello again
	Problem     string // why
	Standby     bool   // the answering master does not lead, and has no nodes
	Leader      string // as in [HelloReply]
}

// readHello reads a hello, unless no daemon of this version says it.
func readHello(t *peer.THello) (*Hello, error) {
	if t == nil {
		t = peer.NewTHello()
	}
	sender, err := introduced(t.Sender, t.Slots)
	if err != nil {
		return nil, err
	}
	switch {
	case t.Highest < 0 || t.Highest > sched.MaxID+1:
		return nil, refusePeer(sender, fmt.Sprintf("the highest number %d that it has seen is out of range", t.Highest))
	case len(t.Features) > maxFeatures || slices.ContainsFunc(t.Features, func(f string) bool { return len(f) > maxStated }):
		return nil, refusePeer(sender, fmt.Sprintf("it states %d features, or one of more than %d bytes; %d are the most", len(t.Features), maxStated, maxFeatures))
	case len(t.Continues) > MaxContinues:
		return nil, refusePeer(sender, fmt.Sprintf("it continues %d processes; %d are the most", len(t.Continues), MaxContinues))
	case len(t.Policy) > maxStated || len(t.Version) > maxStated:
		return nil, refusePeer(sender, fmt.Sprintf("its policy of %d bytes or version of %d bytes is longer than %d bytes", len(t.Policy), len(t.Version), maxStated))
	}
	t.Departed = readable(t.Departed)
	h := helloFrom(t)
	h.Sender, h.DiskFault = sender, clipped(h.DiskFault)
	return &h, nil
}

// readSnapshot is the same for a snapshot.
func readSnapshot(t *peer.TSnapshot) (*Snapshot, error) {
	if t == nil {
		t = peer.NewTSnapshot()
	}
	sender, err := introduced(t.Sender, t.Slots)
	if err != nil {
		return nil, err
	}
	s := snapshotFrom(t)
	s.Sender, s.DiskFault, s.Away = sender, clipped(s.DiskFault), max(s.Away, 0)
	return &s, nil
}

// mostFault bounds a fault of a disk in bytes: its master keeps it, and passes it on.
const mostFault = 500

// clipped returns the beginning of a fault that is too long.
func clipped(fault string) string { return api.Clip(fault, mostFault) }

// introduced returns the sender, which must be named, when its slots can be read.
func introduced(from *peer.TRef, slots []*peer.TSlot) (Ref, error) {
	sender := refFrom(from)
	if err := checkRef(from); err != nil {
		return Ref{}, refusePeer(Ref{}, err.Error())
	}
	if sender.Name == "" {
		return Ref{}, refusePeer(sender, "it does not name its sender")
	}
	for i, t := range slots {
		if err := checkSlot(t); err != nil {
			return Ref{}, refusePeer(sender, fmt.Sprintf("slot %d of %d: %v", i+1, len(slots), err))
		}
	}
	return sender.Daemon(), nil
}
