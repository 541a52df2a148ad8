package application

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// The memory for executors is shared by owner: it is given out to the owner that holds the least of
// it first, and an application that waits for memory takes it back from others, one executor at a time.
const (
	// reclaimIdle is how long an application waits before it takes executors of one that runs nothing.
	// After reclaimBusy it also takes those of another owner that would still hold as much as its own:
	// later, because the work that they lose is done again.
	reclaimIdle = time.Second
	reclaimBusy = 10 * time.Second
)

// idle reports whether an application runs nothing and wants nothing. One without grants schedules in
// its slots itself, and never is.
func (a *application) idle() bool {
	if !a.Grants {
		return false
	}
	for _, l := range a.jobs.levels {
		if l.wanted() > 0 || l.live() > 0 {
			return false
		}
	}
	return true
}

// memoryOf returns the MB of the executors of an owner.
func (reg *registry) memoryOf(owner string) (mb int64) {
	for _, a := range reg.apps {
		if a.Owner == owner {
			all, _ := a.executors.count()
			mb += int64(all) * a.Template.Memory
		}
	}
	return mb
}

// inTurn returns the applications in the order in which they are given memory: those that have work
// first, then by what their owners hold, then by id.
func (reg *registry) inTurn() []*application {
	held := map[string]int64{}
	for _, a := range reg.apps {
		if _, known := held[a.Owner]; !known {
			held[a.Owner] = reg.memoryOf(a.Owner)
		}
	}
	list := slices.Collect(maps.Values(reg.apps))
	idle := make(map[*application]bool, len(list))
	for _, a := range list {
		idle[a] = a.idle()
	}
	slices.SortFunc(list, func(a, b *application) int {
		if idle[a] != idle[b] {
			if idle[a] {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(held[a.Owner], held[b.Owner]), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// reclaim stops an executor of another application for one that waits for memory.
func (pl *placement) reclaim(a *application) {
	waited := pl.now.Sub(a.waitingSince)
	if waited < reclaimIdle || a.idle() || pl.beingStopped() {
		return
	}
	own := pl.reg.memoryOf(a.Owner)
	places := pl.candidates(a)
	for _, busy := range []bool{false, true} {
		if busy && waited < reclaimBusy {
			return
		}
		for _, x := range slices.Backward(pl.reg.inTurn()) { // the richest owner first
			if x == a || x.ended != "" || !x.Grants || x.idle() == busy {
				continue
			}
			if busy && (x.Owner == a.Owner || pl.reg.memoryOf(x.Owner)-x.Template.Memory < own+a.Template.Memory) {
				continue
			}
			if p := x.executors.newestOn(func(node string) bool {
				return slices.ContainsFunc(places, func(c candidate) bool {
					return c.node == node && c.room > 0 && c.free+x.Template.Memory >= a.Template.Memory
				})
			}); p != nil {
				x.stopExecutor(p)
				x.updates.addNote(fmt.Sprintf("%s: executor %s on node %s was stopped, because %s of owner %q waits for its memory (memory is shared by owner)", subject(x.ID), p.id, p.node, subject(a.ID), a.Owner))
				return
			}
		}
	}
}

// beingStopped reports whether an executor is being stopped, whose memory will be free.
func (pl *placement) beingStopped() bool {
	for _, a := range pl.reg.apps {
		for _, p := range a.executors.byID {
			if p.stop {
				return true
			}
		}
	}
	return false
}

// newestOn returns the executor that was ordered last of those on nodes that serve, nil when
// there is none.
func (e *executors) newestOn(serves func(node string) bool) (newest *executor) {
	for _, p := range e.byID {
		if !p.stop && serves(p.node) && (newest == nil || number(p.id) > number(newest.id)) {
			newest = p
		}
	}
	return newest
}

// mostOn returns how many executors of an application can be of use on a node: as many as can
// fill its slots, by grants. Without grants each holds slots of its own.
func (a *application) mostOn(n *node) int {
	switch {
	case !a.Grants, a.Template.Slots > 0 && n.slots == 0: // unknown from a master of an earlier version
		return api.MaxExecutors
	case a.Template.Slots == 0:
		return 1
	}
	return max(1, (n.slots+a.Template.Slots-1)/a.Template.Slots)
}
