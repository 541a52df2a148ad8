package grants

import (
	"maps"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// application is an application that has, or had, executors here.
type application struct {
	id        string
	executors map[string]*executor
	waiting   []*grant  // in the order of their starts; no executor had room
	attached  uint64    // counts attachments
	full      time.Time // since when its executors have no room; zero while they have
}

// executor is a process that was started here.
//
// Invariants: held has the grants that are assigned or bound to it; queue those
// of them that were not acknowledged, by ascending seq.
type executor struct {
	id, token    string
	order        uint64 // of its first attachment; 0 before
	attachments  uint64 // a call that began before the last one has lost its connection
	slots        int
	unresponsive bool // left a grant unfetched
	held         map[sched.AttemptID]*grant
	queue        []*grant
	seq          int64
	giveBack     bool          // some grants must be returned, and no answer has listed them yet
	wake         chan struct{} // closed and replaced at every change for the executor
}

// room returns how many more grants the executors can hold, and how many in all.
func (a *application) room() (room, slots int) {
	room = -len(a.waiting)
	for _, x := range a.executors {
		if x.order > 0 && !x.unresponsive {
			room += x.room()
			slots += x.slots
		}
	}
	return room, slots
}

func (x *executor) room() int {
	if x.order == 0 || x.unresponsive {
		return 0
	}
	return max(0, x.slots-len(x.held))
}

// inOrder returns the executor's grants in the order of their assignment.
func (x *executor) inOrder() []*grant {
	return slices.SortedFunc(maps.Values(x.held), func(a, b *grant) int { return int(a.seq - b.seq) })
}

// wakeUp wakes the call that waits for the executor's grants.
func (x *executor) wakeUp() {
	close(x.wake)
	x.wake = make(chan struct{})
}

// emptiest returns the executor for the next grant, nil when none has room.
func (a *application) emptiest() *executor {
	var best *executor
	for _, x := range a.executors { // the order of attachment decides between equals
		if x.room() == 0 {
			continue
		}
		if best == nil || len(x.held) < len(best.held) || len(x.held) == len(best.held) && x.order < best.order {
			best = x
		}
	}
	return best
}
