package frontend

import (
	"slices"
	"sync"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// visitors are the processes of nodes and other frontends by which this frontend
// tells whose messages count. The owner changes it with the roll; it is safe for
// concurrent use.
type visitors struct {
	mu     sync.RWMutex
	now    map[wire.Ref]int64
	former map[wire.Ref][]int64 // replaced, the latest at the end
}

// formerKept is how many former processes of a name are remembered.
const formerKept = 8

// standing is what a batch of a process comes to.
type standing int

const (
	stranger standing = iota // not on the roll, perhaps not yet
	welcome                  // on the roll
	replaced                 // another process has taken its name
)

func newVisitors() *visitors {
	return &visitors{now: map[wire.Ref]int64{}, former: map[wire.Ref][]int64{}}
}

func (v *visitors) standing(who wire.Ref, incarnation int64) standing {
	v.mu.RLock()
	defer v.mu.RUnlock()
	now, known := v.now[who]
	switch {
	case known && now == incarnation:
		return welcome
	case slices.Contains(v.former[who], incarnation):
		return replaced
	default:
		return stranger
	}
}

// enter takes a process in; the one of its name before it is replaced.
func (v *visitors) enter(who wire.Ref, incarnation int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if old, known := v.now[who]; known && old != incarnation {
		list := append(v.former[who], old)
		v.former[who] = list[max(0, len(list)-formerKept):]
	}
	v.former[who] = slices.DeleteFunc(v.former[who], func(old int64) bool { return old == incarnation })
	v.now[who] = incarnation
}

// leave takes out a process that may come back.
func (v *visitors) leave(who wire.Ref) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.now, who)
}
