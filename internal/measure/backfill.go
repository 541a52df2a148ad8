package measure

import (
	"math"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Backfilled returns when each task starts (ns on the workload's axis, the tasks of all jobs one after
// another) under an offline EASY backfill that knows every duration, in each group by itself: short
// jobs first, each class in order of arrival, without delays. At every instant the waiting tasks are
// looked at in order. One that finds no room gets a reservation: a task of several slots at the node,
// of those without one, that is free first, a gang in the whole group, one gang at a time. What
// follows starts only where it delays no reservation. All reservations are made anew at the next
// instant.
//
// group has the group of each task; nodes the sizes of each group's nodes; the reserved slots, which
// long tasks do not use, are the first ones of a group.
func Backfilled(w *workload.Workload, group []int32, nodes [][]int, reserved float64) []int64 {
	starts := make([]int64, len(group))
	for g := range nodes {
		e := newEasy(nodes[g], reserved)
		e.starts = starts
		e.run(w, group, int32(g)) //nolint:gosec // groups are few
	}
	return starts
}

// depth is how many waiting jobs are looked at, at one instant, in each class.
const depth = 64

type easy struct {
	ends    []int64 // by slot: when it is free
	node    []int   // by slot
	first   []int   // of each node, and one behind the last
	kept    int     // reserved slots, the first ones
	free    int
	queue   [2][]*waiting
	starts  []int64
	now     int64
	pending *heap[int64] // ends to come

	at     []int64 // by node: when its reservation is due, 0: it has none
	extra  []int   // by node: slots that are free then, and not needed
	gangAt int64
	beside int // the same of the group, for a gang
	sorted []int64
}

// waiting is the share of a job that a group has.
type waiting struct {
	job   *workload.Job
	class int
	tasks []int // numbers of those that wait, over all jobs
	first int   // number of the job's first task
}

func newEasy(nodes []int, reserved float64) *easy {
	e := &easy{at: make([]int64, len(nodes)), extra: make([]int, len(nodes)), pending: &heap[int64]{before: func(a, b int64) bool { return a < b }}}
	for n, slots := range nodes {
		e.first = append(e.first, len(e.ends))
		for range slots {
			e.ends, e.node = append(e.ends, 0), append(e.node, n)
		}
	}
	e.first = append(e.first, len(e.ends))
	e.kept, e.free = int(reserved*float64(len(e.ends))+0.5), len(e.ends)
	return e
}

func (e *easy) run(w *workload.Workload, group []int32, g int32) {
	next, task := 0, 0
	for {
		arrival := int64(math.MaxInt64)
		if next < len(w.Jobs) {
			arrival = w.Jobs[next].Arrival
		}
		if e.now = arrival; e.pending.len() > 0 {
			e.now = min(e.now, e.pending.top())
		}
		if e.now == math.MaxInt64 {
			return
		}
		for e.pending.len() > 0 && e.pending.top() == e.now {
			e.pending.pop()
			e.free++
		}
		for ; next < len(w.Jobs) && w.Jobs[next].Arrival == e.now; next++ {
			j := &w.Jobs[next]
			x := &waiting{job: j, class: workload.Class(j.DeclaredLong), first: task}
			for range j.Durations {
				if group[task] == g {
					x.tasks = append(x.tasks, task)
				}
				task++
			}
			if len(x.tasks) > 0 {
				e.queue[x.class] = append(e.queue[x.class], x)
			}
		}
		e.schedule()
	}
}

// schedule starts what can start now.
func (e *easy) schedule() {
	clear(e.at)
	e.gangAt = 0
	for class := range e.queue {
		kept := e.queue[class][:0]
		for i, x := range e.queue[class] {
			if e.free > 0 && i < depth {
				e.start(x)
			}
			if len(x.tasks) > 0 {
				kept = append(kept, x)
			}
		}
		clear(e.queue[class][len(kept):])
		e.queue[class] = kept
	}
}

func (e *easy) start(x *waiting) {
	if x.job.Gang {
		e.startGang(x)
		return
	}
	for len(x.tasks) > 0 && e.free > 0 {
		n, slots := e.room(x, x.job.Durations[x.tasks[0]-x.first])
		if slots == nil {
			if width := int(x.job.Width()); width > 1 {
				e.reserve(x, width)
			}
			return
		}
		e.occupy(x, n, slots)
	}
}

// lowest returns the first slot of a node that the class may use.
func (e *easy) lowest(n, class int) int {
	if class == 1 {
		return max(e.first[n], min(e.kept, e.first[n+1]))
	}
	return e.first[n]
}

// room returns free slots of one node for a task that delays no reservation, nil when there are none.
// General slots go to long tasks last, to short ones first.
func (e *easy) room(x *waiting, lasts int64) (int, []int) {
	width := int(x.job.Width())
	if e.gangAt > 0 && e.now+lasts > e.gangAt && e.beside < width {
		return 0, nil
	}
	for k := range e.at {
		n := len(e.at) - 1 - k // the reserved slots are those of the first nodes
		if e.at[n] > 0 && e.now+lasts > e.at[n] && e.extra[n] < width {
			continue
		}
		if slots := e.freeOf(n, x.class, width); slots != nil {
			return n, slots
		}
	}
	return 0, nil
}

// freeOf returns so many free slots of a node, nil when it has fewer.
func (e *easy) freeOf(n, class, width int) (slots []int) {
	for s := e.first[n+1] - 1; s >= e.lowest(n, class); s-- {
		if e.ends[s] <= e.now {
			if slots = append(slots, s); len(slots) == width {
				return slots
			}
		}
	}
	return nil
}

// occupy starts the first task of a share.
func (e *easy) occupy(x *waiting, n int, slots []int) {
	task := x.tasks[0]
	x.tasks = x.tasks[1:]
	end := e.now + x.job.Durations[task-x.first]
	e.starts[task] = e.now
	if e.at[n] > 0 && end > e.at[n] {
		e.extra[n] -= len(slots)
	}
	if e.gangAt > 0 && end > e.gangAt {
		e.beside -= len(slots)
	}
	if end == e.now {
		return
	}
	for _, s := range slots {
		e.ends[s] = end
		e.pending.push(end)
	}
	e.free -= len(slots)
}

// reserve reserves the node where a task of several slots can start first.
func (e *easy) reserve(x *waiting, width int) {
	best, at := -1, int64(0)
	for n := range e.at {
		low := e.lowest(n, x.class)
		if e.at[n] > 0 || e.first[n+1]-low < width {
			continue
		}
		if t := e.freeAt(e.ends[low:e.first[n+1]], width); best < 0 || t < at {
			best, at = n, t
		}
	}
	if best >= 0 {
		e.at[best], e.extra[best] = at, -width
		for _, end := range e.ends[e.lowest(best, x.class):e.first[best+1]] {
			if end <= at {
				e.extra[best]++
			}
		}
	}
}

// freeAt returns when so many of the slots are free.
func (e *easy) freeAt(ends []int64, count int) int64 {
	e.sorted = append(e.sorted[:0], ends...)
	slices.Sort(e.sorted)
	return max(e.now+1, e.sorted[count-1])
}

// startGang starts a gang, or reserves slots of the group for it.
func (e *easy) startGang(x *waiting) {
	if e.gangAt > 0 {
		return
	}
	width, count := int(x.job.Width()), len(x.tasks)
	type place struct {
		node  int
		slots []int
	}
	var places []place
	for n := range e.at {
		if e.at[n] > 0 {
			continue
		}
		var free []int
		for s := e.lowest(n, x.class); s < e.first[n+1]; s++ {
			if e.ends[s] <= e.now {
				free = append(free, s)
			}
		}
		for len(free) >= width && len(places) < count {
			places = append(places, place{n, free[:width]})
			free = free[width:]
		}
	}
	if len(places) == count {
		for _, p := range places {
			e.occupy(x, p.node, p.slots)
		}
		return
	}
	low := 0
	if x.class == 1 {
		low = e.kept
	}
	e.gangAt, e.beside = e.freeAt(e.ends[low:], min(count*width, len(e.ends)-low)), -count*width
	for _, end := range e.ends[low:] {
		if end <= e.gangAt {
			e.beside++
		}
	}
}
