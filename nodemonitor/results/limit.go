package results

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Running counts the attempts at the node. The zero value has none.
type Running struct {
	all int
	of  []int // by distributor number
}

// Count counts by more attempts of a frontend.
func (n *Running) Count(frontend sched.Addr, by int) {
	n.all += by
	if frontend.ID < 0 {
		return
	}
	for int(frontend.ID) >= len(n.of) {
		n.of = append(n.of, 0)
	}
	n.of[frontend.ID] += by
}

// All returns how many there are.
func (n *Running) All() int { return n.all }

// Of returns how many of them are of a frontend.
func (n *Running) Of(frontend sched.Addr) int {
	if frontend.ID < 0 || int(frontend.ID) >= len(n.of) {
		return 0
	}
	return n.of[frontend.ID]
}

// Capacity is whether one more attempt of a frontend may start at the node: its result must find a
// place.
type Capacity uint8

// The capacities.
const (
	Room   Capacity = iota
	Full            // the results of the frontend are at their limit
	Silent          // likewise, and it has not answered for some seconds
)

// Capacity returns that for a frontend. All results and running attempts together have the limit.
// When that is reached, a frontend still has a part of it to itself: the limit over the number of
// frontends that have a result or an attempt here. So a frontend that is away never blocks the node
// for others, however many results are kept for it; and n frontends have at most
// 1 + 1/2 + ... + 1/n times the limit together.
func (r *Reporter) Capacity(frontend sched.Addr, running *Running) Capacity {
	if r.hasRoomForAll(running) {
		return Room
	}
	f := r.frontend(frontend)
	if f == nil {
		return Full
	}
	if n := r.sharing(f, running); f.kept()+running.Of(frontend) < max(1, r.store.limit/n) && f.bytes < max(1, r.store.maxBytes/int64(n)) {
		return Room
	}
	if r.isSilent(f) {
		return Silent
	}
	return Full
}

func (r *Reporter) hasRoomForAll(running *Running) bool {
	return len(r.store.index)+running.All() < r.store.limit && r.store.bytes < r.store.maxBytes
}

// sharing counts the frontends with a kept result or a running attempt, and f.
func (r *Reporter) sharing(f *frontend, running *Running) (n int) {
	for _, other := range r.frontends {
		if other == f || other.kept() > 0 || running.Of(other.addr) > 0 {
			n++
		}
	}
	return n
}

// Fullness returns why there is no Room for a frontend, in words.
func (r *Reporter) Fullness(distributor sched.Addr) string {
	s, f := r.store, r.frontends[distributor.ID]
	return fmt.Sprintf("node %q keeps %d results (%d bytes) that their frontends have not acknowledged, its limit (max_results, max_result_bytes); %d (%d bytes) of them are of frontend %q, its part or more",
		r.cfg.Self.Ref.Name, len(s.index), s.bytes, f.kept(), f.bytes, f.ref.Name)
}

// Full returns the frontends without Room; nil when there is room for all.
func (r *Reporter) Full(running *Running) map[sched.Addr]Capacity {
	if r.hasRoomForAll(running) {
		return nil
	}
	full := map[sched.Addr]Capacity{}
	for _, f := range r.frontends {
		if c := r.Capacity(f.addr, running); c != Room {
			full[f.addr] = c
		}
	}
	return full
}
