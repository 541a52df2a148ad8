package classes

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The window over which the overruns of an owner are counted, in parts that are dropped one
// by one. It covers nine to ten minutes.
const (
	windowParts = 10
	windowPart  = 60 * sched.Second
)

// MinTasks is how many tasks of an owner must have ended in the window before its overruns
// count.
const MinTasks = 20

// overruns is the time of an owner's tasks that ran as short, over a sliding window.
type overruns struct {
	owner string
	last  int64 // number of the newest part
	parts [windowParts]span
	used  uint64 // when it was used last, in the order of uses
}

// span is the tasks that ended in a part of the window, or in all of it.
type span struct {
	tasks int64
	ran   sched.Time // in all
	over  sched.Time // past the cutoff
}

// advance drops what is older than the window.
func (o *overruns) advance(now sched.Time) {
	part := int64(now / windowPart)
	for n := min(part-o.last, windowParts); n > 0; n-- {
		o.parts[(part-n+1)%windowParts] = span{}
	}
	o.last = max(o.last, part)
}

func (o *overruns) add(now, ran, cutoff sched.Time) {
	o.advance(now)
	p := &o.parts[o.last%windowParts]
	p.tasks++
	p.ran += ran
	p.over += max(0, ran-cutoff)
}

// merge adds what was counted for the same owner before; both have the same newest part.
func (o *overruns) merge(earlier *overruns) {
	for i := range o.parts {
		o.parts[i].add(earlier.parts[i])
	}
}

func (s *span) add(t span) {
	s.tasks, s.ran, s.over = s.tasks+t.tasks, s.ran+t.ran, s.over+t.over
}

// sum returns the whole window.
func (o *overruns) sum(now sched.Time) (s span) {
	o.advance(now)
	for _, p := range o.parts {
		s.add(p)
	}
	return s
}

// exceeds reports whether the overruns are more than a share of the time.
func (s span) exceeds(share float64) bool {
	return s.tasks >= MinTasks && float64(s.over) > share*float64(s.ran)
}

// owners are the owners whose short tasks are counted, at most most of them.
type owners struct {
	most    int
	uses    uint64
	changes uint64 // of what is counted
	byName  map[string]*overruns
}

// make returns an owner's overruns, which are new and empty when there were none. For a new
// owner the least recently used one is forgotten; that is looked for among all of them.
func (s *owners) make(name string) *overruns {
	s.uses++
	o := s.byName[name]
	if o == nil {
		o = &overruns{owner: name}
		s.enter(o)
	}
	o.used = s.uses
	return o
}

// enter adds an owner that is not there.
func (s *owners) enter(o *overruns) {
	if len(s.byName) >= s.most {
		s.forgetOldest()
	}
	s.byName[o.owner] = o
}

// byUse returns the owners from the least to the most recently used one.
func (s *owners) byUse() []*overruns {
	return slices.SortedFunc(maps.Values(s.byName), func(a, b *overruns) int { return cmp.Compare(a.used, b.used) })
}

// resume continues from owners that an earlier process counted, the least recently used one
// first. Those that are there already were used later, and keep what they are.
func (s *owners) resume(earlier []*overruns) {
	present := s.byUse()
	s.byName = map[string]*overruns{}
	for _, o := range slices.Concat(earlier, present) {
		before := s.byName[o.owner]
		if before != nil {
			o.merge(before)
			delete(s.byName, o.owner)
		}
		s.uses++
		o.used = s.uses
		s.enter(o)
	}
}

// forgetOldest removes the owner that was used least recently; no two have the same use, so
// the order of the map does not matter.
func (s *owners) forgetOldest() {
	var oldest *overruns
	for _, o := range s.byName {
		if oldest == nil || o.used < oldest.used {
			oldest = o
		}
	}
	delete(s.byName, oldest.owner)
}
