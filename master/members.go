package master

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// node is a registered node monitor. Owned by the owner goroutine.
type node struct {
	id          string
	incarnation int64
	address     string
	out         *outlet
	slots       map[int32]sched.Addr // worker of each slot
	serves      map[int32][]string   // what each slot serves while the node can be reached
	heard       time.Time            // of its last hello or snapshot
	up          bool                 // messages reach it
}

// frontend is a registered frontend. Owned by the owner goroutine.
type frontend struct {
	id          string
	incarnation int64
	address     string
	addr        sched.Addr
	out         *outlet
	heard       time.Time
}

// helloNode registers a node and its slots.
func (o *owner) helloNode(h *wire.Hello) wire.HelloReply {
	name := h.Sender.Name
	if old := o.nodes[name]; old != nil {
		switch {
		case old.incarnation == h.Incarnation:
			old.heard = time.Now()
			return o.welcome("") // its earlier hello was taken, the answer was lost
		case old.address != h.Address && o.alive(old.out, old.heard):
			return o.welcome(fmt.Sprintf("a node named %q at %s is registered in group %d and alive, so the node at %s was refused; give one of them another id",
				name, old.address, o.cfg.Group, h.Address))
		}
		o.loseNode(old, "its node monitor was restarted")
	}
	out, err := o.open(wire.Ref{Role: sched.Worker, Name: name}, h.Address, h.Incarnation)
	if err != nil {
		return o.welcome(err.Error())
	}
	n := &node{
		id: name, incarnation: h.Incarnation, address: h.Address, out: out, slots: map[int32]sched.Addr{}, serves: map[int32][]string{}, heard: time.Now(),
		up: out.link.Stats().Status == link.Up, // a node that reaches us is not always reached by us
	}
	o.nodes[name] = n
	for i := range h.Slots {
		o.slotUp(n, &h.Slots[i], h.Serves)
	}
	o.log.Info("node registered", "node", name, "address", h.Address, "slots", len(h.Slots))
	return o.welcome("")
}

// alive says that a registered peer was heard of lately and can be reached, so
// that another one of its name is an impostor and not its successor.
func (o *owner) alive(out *outlet, heard time.Time) bool {
	return time.Since(heard) < o.cfg.LostAfter && out.link.Stats().Status == link.Up
}

// slotUp registers one slot with the core.
func (o *owner) slotUp(n *node, s *wire.Slot, nodeServes []string) {
	if _, twice := n.slots[s.Slot]; twice {
		o.log.Error("a node names a slot twice; the first counts", "node", n.id, "slot", s.Slot)
		return
	}
	ref := wire.Ref{Role: sched.Worker, Name: n.id, Slot: s.Slot}
	w := o.roster.Renew(ref)
	if w == (sched.Addr{}) {
		o.log.Error("a slot was not registered: too many slots have come and gone; restart this master", "node", n.id, "slot", s.Slot)
		return
	}
	n.slots[s.Slot], n.serves[s.Slot] = w, serves(s, nodeServes)
	m := sched.Message{
		Kind: sched.WorkerUp, Peer: w, Node: n.id, Seq: s.Seq, Reserved: s.Reserved, Fixed: s.Fixed, Kept: s.Kept,
		Serves: n.servesNow(s.Slot),
	}
	if s.Running.Attempt > 0 {
		o.cargo.adopt(s)
		m.Job, m.First, m.Attempt = s.Running.Job, s.Running.Task, s.Running.Attempt
		m.Class, m.App, m.Owner = s.Class, s.App, o.roster.Addr(s.Owner)
	}
	o.nodeOf[w.ID] = n
	o.stepShell(&m)
}

// servesNow gives what a slot can be given: nothing while its node cannot be
// reached.
func (n *node) servesNow(slot int32) []string {
	if !n.up {
		return []string{}
	}
	return n.serves[slot]
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
	n.out.discard(n.incarnation) // a launch must not arrive after its attempt was given up
}

func (o *owner) slotLost(n *node, slot int32, reason string) {
	w := n.slots[slot]
	delete(n.slots, slot)
	delete(n.serves, slot)
	o.stepShell(&sched.Message{Kind: sched.WorkerLost, Peer: w, Reason: fmt.Sprintf("node %s: %s", n.id, reason)})
	delete(o.nodeOf, w.ID)
}

func sortedSlots(slots map[int32]sched.Addr) []int32 {
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
		return wire.SnapshotReply{Incarnation: o.incarnation, Epoch: o.core.Epoch(), Problem: fmt.Sprintf("group %d has no registration of node %q", o.cfg.Group, s.Sender.Name)}
	}
	n.heard = time.Now()
	seen := make(map[int32]bool, len(s.Slots))
	for i := range s.Slots {
		sl := &s.Slots[i]
		seen[sl.Slot] = true
		w, known := n.slots[sl.Slot]
		if !known {
			o.slotUp(n, sl, nil)
			continue
		}
		if sl.Serves != nil {
			n.serves[sl.Slot] = serves(sl, nil)
			o.stepShell(&sched.Message{Kind: sched.WorkerServes, Peer: w, Serves: n.servesNow(sl.Slot)})
		}
		if sl.Running.Attempt == 0 {
			o.step(w, &sched.Message{Kind: sched.Idle, Seq: sl.Seq})
		}
	}
	for _, slot := range sortedSlots(n.slots) {
		if !seen[slot] {
			o.slotLost(n, slot, "the slot was withdrawn")
		}
	}
	return wire.SnapshotReply{Incarnation: o.incarnation, Epoch: o.core.Epoch(), Known: true}
}

// helloFrontend registers a frontend; its numbers stay when only its process is
// new, since its journal goes on.
func (o *owner) helloFrontend(h *wire.Hello) wire.HelloReply {
	name := h.Sender.Name
	old := o.frontends[name]
	switch {
	case old != nil && old.incarnation == h.Incarnation && old.address == h.Address:
		old.heard = time.Now()
		return o.welcome("")
	case old != nil && old.incarnation != h.Incarnation && old.address != h.Address && o.alive(old.out, old.heard):
		return o.welcome(fmt.Sprintf("a frontend named %q at %s is registered in group %d and alive, so the frontend at %s was refused; give one of them another id",
			name, old.address, o.cfg.Group, h.Address))
	}
	out, err := o.open(wire.Ref{Role: sched.Distributor, Name: name}, h.Address, h.Incarnation)
	if err != nil {
		return o.welcome(err.Error())
	}
	f := &frontend{id: name, incarnation: h.Incarnation, address: h.Address, out: out, heard: time.Now()}
	f.addr = o.roster.Addr(wire.Ref{Role: sched.Distributor, Name: name})
	o.frontends[name] = f
	o.log.Info("frontend registered", "frontend", name, "address", h.Address)
	return o.welcome("")
}

// welcome answers a hello: taken, or refused for the problem.
func (o *owner) welcome(problem string) wire.HelloReply {
	if problem != "" {
		o.log.Warn("hello refused", "problem", problem)
	}
	return wire.HelloReply{
		Sender: o.self, Incarnation: o.incarnation, Epoch: o.core.Epoch(), Group: o.cfg.Group,
		Serves: o.core.Index().Served(), Accepted: problem == "", Problem: problem,
	}
}

// raiseEpoch goes above an epoch that a peer of an earlier master reports.
func (o *owner) raiseEpoch(seen uint64) {
	if e := o.core.Epoch(); e == 0 || seen > e {
		o.stepShell(&sched.Message{Kind: sched.EpochIs, Epoch: max(seen, e) + 1})
	}
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
		o.stepShell(&sched.Message{Kind: sched.WorkerServes, Peer: n.slots[slot], Serves: n.servesNow(slot)})
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
