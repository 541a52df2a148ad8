package master

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// node is a registered node monitor. Owned by the owner goroutine.
type node struct {
	id          string
	ref         wire.Ref
	incarnation int64
	address     string
	memory      int64  // MB for the processes of applications
	host        string // as applications know it
	slots       map[int32]*slot
	heard       time.Time // of its last hello or snapshot
	up          bool      // messages reach it
}

// slot is a worker of a node.
type slot struct {
	worker sched.Addr
	serves []string // while the node can be reached
	busy   int      // attempts there, as the node told last
}

// helloNode registers a node and its slots. The error is worth another try.
func (o *owner) helloNode(h *wire.Hello) (wire.HelloReply, error) {
	name := h.Sender.Name
	old := o.nodes[name]
	switch {
	case old == nil:
	case old.incarnation != h.Incarnation && old.address != h.Address && o.alive(old.ref, old.heard):
		return o.welcome(fmt.Sprintf("a node named %q at %s is registered in group %d and alive, so the node at %s was refused; give one of them another id",
			name, old.address, o.cfg.Group, h.Address)), nil
	case old.incarnation != h.Incarnation:
		o.loseNode(old, "its node monitor was restarted")
		old = nil
	}
	given, refusal, err := o.numbersFor(h)
	if err != nil || refusal != nil {
		return *refusal, err
	}
	if old != nil { // its earlier hello was taken, the answer was lost
		old.heard = time.Now()
		if o.rules.numbered {
			o.slotsUp(old, h, given) // snapshots do not number slots that came since
		}
		return o.welcomeWith(given), nil
	}
	n := &node{
		id: name, ref: wire.Ref{Role: sched.Worker, Name: name}, incarnation: h.Incarnation, address: h.Address, memory: h.Memory, host: h.Host,
		slots: map[int32]*slot{}, heard: time.Now(),
	}
	if err := o.meet(n.ref, n.address, n.incarnation); err != nil {
		return o.welcome(err.Error()), nil
	}
	n.up = o.mesh.Up(n.ref) // a node that reaches us is not always reached by us
	if o.rules.numbered && !n.up {
		return wire.HelloReply{}, unreachable(n)
	}
	o.nodes[name] = n
	o.rollChanged = true
	o.slotsUp(n, h, given)
	o.log.Info("node registered", "node", name, "address", h.Address, "slots", len(h.Slots))
	return o.welcomeWith(given), nil
}

// slotsUp registers the slots of a hello that are not registered yet.
func (o *owner) slotsUp(n *node, h *wire.Hello, given []int32) {
	before := len(n.slots)
	for i := range h.Slots {
		number := int32(0)
		if given != nil {
			number = given[i]
		}
		if before > 0 && n.slots[h.Slots[i].Slot] != nil {
			continue
		}
		o.slotUp(n, &h.Slots[i], h.Serves, number)
	}
}

// numbersFor settles the numbers of a node's slots, where workers have some. A
// refusal that carries numbers tells the node that it cannot go on as the process
// that it is: others have what it claims.
func (o *owner) numbersFor(h *wire.Hello) (given []int32, refusal *wire.HelloReply, err error) {
	if !o.rules.numbered {
		return nil, nil, nil
	}
	for i := range h.Slots {
		if h.Slots[i].Slot >= maxSlot {
			r := o.welcome(fmt.Sprintf("node %q has a slot of number %d; they are numbered from 0 to %d", h.Sender.Name, h.Slots[i].Slot, maxSlot-1))
			return nil, &r, nil
		}
	}
	given, conflicts, err := o.numbers.settle(h, time.Now())
	if err != nil {
		return nil, &wire.HelloReply{}, err
	}
	if len(conflicts) > 0 {
		r := o.welcome(fmt.Sprintf("node %q claims %d numbers of workers that other slots have by now, %d among them; start its node monitor again", h.Sender.Name, len(conflicts), conflicts[0]-1))
		r.Numbers = conflicts
		return nil, &r, nil
	}
	return given, nil, nil
}

func unreachable(n *node) error {
	return &api.Error{
		Problem: api.NotReady, What: "messages do not reach the node, so that nothing could be launched there", Subject: fmt.Sprintf("node %s at %s", n.id, n.address),
		Tried: "calling it back", Next: "let its internal_listen, or advertise, be an address that this master reaches",
	}
}

// alive says that a registered peer was heard of lately and can be reached, so
// that another one of its name is an impostor and not its successor.
func (o *owner) alive(peer wire.Ref, heard time.Time) bool {
	return time.Since(heard) < o.cfg.LostAfter && o.mesh.Up(peer)
}

// meet opens the way to a peer that has just registered, with nothing queued, so
// that it is known before anything is sent whether the peer can be reached.
func (o *owner) meet(peer wire.Ref, address string, incarnation int64) error {
	o.mesh.Meet(peer, address, incarnation)
	return o.mesh.Open(peer)
}

// slotUp registers one slot with the core. number, plus one, is its worker's where
// workers have some; without one the slot waits for the node's next hello.
func (o *owner) slotUp(n *node, s *wire.Slot, nodeServes []string, number int32) {
	if _, twice := n.slots[s.Slot]; twice {
		o.log.Error("a node names a slot twice; the first counts", "node", n.id, "slot", s.Slot)
		return
	}
	w := o.worker(wire.Ref{Role: sched.Worker, Name: n.id, Slot: s.Slot}, number)
	if w == (sched.Addr{}) {
		o.log.Error("a slot was not registered: too many slots have come and gone; restart this master", "node", n.id, "slot", s.Slot)
		return
	}
	n.slots[s.Slot] = &slot{worker: w, serves: serves(s, nodeServes), busy: busy(s)}
	o.nodeOf[w.ID] = n
	o.rollChanged = o.rollChanged || o.rules.numbered
	up := sched.Message{
		Kind: sched.WorkerUp, Peer: w, Node: n.id, Seq: s.Seq, Reserved: s.Reserved, Fixed: s.Fixed, Kept: s.Kept,
		Serves: n.servesNow(s.Slot),
	}
	bare := up
	if s.Running.Attempt > 0 {
		o.cargo.adopt(s.Running.Job, s.JobName, s.OwnerAddress)
		up.Job, up.First, up.Attempt = s.Running.Job, s.Running.Task, s.Running.Attempt
		up.Class, up.App, up.Owner = s.Class, s.App, o.roster.Addr(s.Owner)
	}
	o.stepShell(&up)
	bare.Kept = nil
	for i := range s.Held {
		o.holds(bare, &s.Held[i])
	}
}

// holds announces the worker of the message once more, for what it holds beside the
// attempt that runs.
func (o *owner) holds(up sched.Message, h *wire.Held) {
	o.cargo.adopt(h.ID.Job, h.JobName, h.OwnerAddress)
	up.Job, up.First, up.Attempt = h.ID.Job, h.ID.Task, h.ID.Attempt
	up.Class, up.App, up.Owner, up.Estimate = h.Class, h.App, o.roster.Addr(h.Owner), h.Estimate
	o.stepShell(&up)
}

// worker gives a slot that comes up its worker's number.
func (o *owner) worker(ref wire.Ref, number int32) sched.Addr {
	switch {
	case !o.rules.numbered:
		return o.roster.Renew(ref)
	case number > 0 && o.roster.Set(ref, number-1):
		return sched.Addr{Role: sched.Worker, ID: number - 1}
	default:
		return sched.Addr{}
	}
}

// busy counts the attempts at a slot.
func busy(s *wire.Slot) int {
	n := len(s.Held)
	if s.Running.Attempt > 0 {
		n++
	}
	return n
}

// servesNow gives what a slot can be given: nothing while its node cannot be
// reached.
func (n *node) servesNow(slot int32) []string {
	if !n.up {
		return []string{}
	}
	return n.slots[slot].serves
}

func serves(s *wire.Slot, nodeServes []string) []string {
	list := slices.Clone(s.Serves)
	if list == nil {
		list = slices.Clone(nodeServes)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// loseNode takes all slots of a node out.
func (o *owner) loseNode(n *node, reason string) {
	o.log.Warn("node lost", "node", n.id, "address", n.address, "reason", reason)
	for _, slot := range sortedSlots(n.slots) {
		o.slotLost(n, slot, reason)
	}
	delete(o.nodes, n.id)
	o.rollChanged = true
	o.mesh.Forget(n.ref) // a launch must not arrive after its attempt was given up
}

func (o *owner) slotLost(n *node, slot int32, reason string) {
	w := n.slots[slot].worker
	delete(n.slots, slot)
	o.rollChanged = o.rollChanged || o.rules.numbered
	o.stepShell(&sched.Message{Kind: sched.WorkerLost, Peer: w, Reason: fmt.Sprintf("node %s: %s", n.id, reason)})
	delete(o.nodeOf, w.ID)
}

func sortedSlots(slots map[int32]*slot) []int32 {
	list := make([]int32, 0, len(slots))
	for s := range slots {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

// snapshot heals what notices lost: idle slots, slots that came or went, and
// what they serve.
func (o *owner) snapshot(s *wire.Snapshot) wire.SnapshotReply {
	n := o.nodes[s.Sender.Name]
	if n == nil || n.incarnation != s.Incarnation {
		return wire.SnapshotReply{Incarnation: o.incarnation, Epoch: o.epoch, Problem: fmt.Sprintf("group %d has no registration of node %q", o.cfg.Group, s.Sender.Name)}
	}
	n.heard = time.Now()
	seen := make(map[int32]bool, len(s.Slots))
	strange := false
	for i := range s.Slots {
		seen[s.Slots[i].Slot] = true
		strange = !o.slotTold(n, &s.Slots[i]) || strange
	}
	for _, slot := range sortedSlots(n.slots) {
		if !seen[slot] {
			o.slotLost(n, slot, "the slot was withdrawn")
		}
	}
	if strange {
		return wire.SnapshotReply{Incarnation: o.incarnation, Epoch: o.epoch, Problem: fmt.Sprintf("node %q has slots without a number", n.id)}
	}
	return wire.SnapshotReply{Incarnation: o.incarnation, Epoch: o.epoch, Known: true}
}

// slotTold takes what a snapshot tells of one slot; false when the node must say
// hello for it first.
func (o *owner) slotTold(n *node, s *wire.Slot) bool {
	known := n.slots[s.Slot]
	switch {
	case known != nil:
	case o.rules.numbered:
		return false
	default:
		o.slotUp(n, s, nil, 0)
		return true
	}
	known.busy = busy(s)
	if s.Serves != nil {
		known.serves = serves(s, nil)
		o.stepShell(&sched.Message{Kind: sched.WorkerServes, Peer: known.worker, Serves: n.servesNow(s.Slot)})
	}
	if s.Running.Attempt == 0 {
		o.step(known.worker, &sched.Message{Kind: sched.Idle, Seq: s.Seq})
	}
	return true
}

// welcome answers a hello: taken, or refused for the problem.
func (o *owner) welcome(problem string) wire.HelloReply {
	if problem != "" {
		o.log.Warn("hello refused", "problem", problem)
	}
	return wire.HelloReply{
		Sender: o.self, Incarnation: o.incarnation, Epoch: o.epoch, Group: o.cfg.Group,
		Serves: o.view.Serves(), Accepted: problem == "", Problem: problem,
	}
}

// welcomeWith takes a hello, with the numbers of the node's workers.
func (o *owner) welcomeWith(numbers []int32) wire.HelloReply {
	r := o.welcome("")
	r.Numbers = numbers
	return r
}

// raiseEpoch goes above an epoch that a peer of an earlier master reports.
func (o *owner) raiseEpoch(seen uint64) {
	if o.epoch > 0 && seen <= o.epoch {
		return
	}
	if seen > 0 {
		o.numbers.followed(time.Now())
	}
	o.epoch = max(seen, o.epoch) + 1
	o.stepShell(&sched.Message{Kind: sched.EpochIs, Epoch: o.epoch})
}

// sweepsToLoss is how often nodes are looked for within the time after which a
// silent one is lost, so that it is found late by a quarter at most.
const sweepsToLoss = 4

// sweep loses the nodes that have not been heard of. Time in which this process
// did not run itself, because its machine slept or was overloaded, does not
// count: what nodes said meanwhile waits to be read.
func (o *owner) sweep() {
	now, every := time.Now(), o.cfg.LostAfter/sweepsToLoss
	var away time.Duration
	if late := now.Sub(o.swept) - every; !o.swept.IsZero() && late > every {
		away = late
	}
	o.swept = now
	var lost []*node
	for _, n := range o.nodes {
		n.heard = n.heard.Add(away)
		if now.Sub(n.heard) >= o.cfg.LostAfter {
			lost = append(lost, n)
		}
	}
	o.sweepFrontends(now, away)
	slices.SortFunc(lost, func(a, b *node) int { return strings.Compare(a.id, b.id) })
	for _, n := range lost {
		o.loseNode(n, fmt.Sprintf("nothing was heard of it for %v", o.cfg.LostAfter))
	}
}

// linkState stops launching to a node that cannot be reached, and loses it when
// that lasts.
func (o *owner) linkState(peer wire.Ref, s link.State) {
	n := o.nodes[peer.Name]
	if peer.Role != sched.Worker || n == nil {
		return
	}
	switch s.Status {
	case link.Up:
		n.up = true
		o.serve(n)
	case link.Down:
		o.log.Warn("node cannot be reached; nothing is launched there meanwhile", "node", n.id, "problem", s.Err)
		n.up = false
		o.serve(n)
	case link.Lost:
		o.loseNode(n, fmt.Sprintf("it could not be reached for %v", o.cfg.LostAfter))
	}
}

// serve tells the core what the slots of a node serve now.
func (o *owner) serve(n *node) {
	for _, slot := range sortedSlots(n.slots) {
		o.stepShell(&sched.Message{Kind: sched.WorkerServes, Peer: n.slots[slot].worker, Serves: n.servesNow(slot)})
	}
}

// refusedBy takes a peer's word that it will never take some messages. A node is
// lost, so that it registers again and its tasks are tried elsewhere. To a
// frontend the rest is sent all the same.
func (o *owner) refusedBy(peer wire.Ref, messages int, why error) {
	o.log.Error("a peer refused messages", "peer", peer.String(), "messages", messages, "problem", why)
	if n := o.nodes[peer.Name]; peer.Role == sched.Worker && n != nil {
		o.loseNode(n, "it refused the master's messages: "+why.Error())
	}
}
