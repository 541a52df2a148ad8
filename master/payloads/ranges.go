package payloads

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// ranges are the tasks of a job by the messages in which they arrived. Of a job that limits how many
// of its tasks run at a time, these are as many as its tasks: they are not all looked at for
// each message, and share equal payloads.
type ranges struct {
	list  []taskRange // in order of arrival
	index *index      // of the list, nil while it is short
}

// taskRange is the tasks of one Tasks message.
type taskRange struct {
	first, count int32     // count 0: it was replaced
	arrived      time.Time // for traces and the wait among the metrics
	data         *data
	taskIDs      []string
	apart        bool  // each gets a guard of its own
	bytes        int64 // without those of the data
}

// data is the payloads of one or more ranges: one for all tasks, or one for each.
type data struct {
	payloads []api.Payload
	ranges   int // that have it
}

// index finds the range of the same tasks.
type index struct {
	at   map[span]int // places in the list
	gone int          // of the list: were replaced
}

// span is the tasks of a range.
type span struct{ first, count int32 }

func (r *taskRange) span() span { return span{r.first, r.count} }

// short is how long a list may be without an index.
const short = 16

// dataFor returns the data of a range that is about to be put: that of the newest one, if both
// have one payload for all their tasks, and it is the same.
func (l *ranges) dataFor(list []api.Payload) *data {
	if n := len(l.list); n > 0 && len(list) == 1 {
		if d := l.list[n-1].data; len(d.payloads) == 1 && d.payloads[0].Equal(&list[0]) {
			return d
		}
	}
	return &data{payloads: list}
}

// put adds a range and returns the earlier one of the same tasks, if there was one.
func (l *ranges) put(r taskRange) (old taskRange, replaced bool) {
	if x := l.index; x != nil {
		var at int
		if at, replaced = x.at[r.span()]; replaced {
			old, l.list[at] = l.list[at], taskRange{}
			x.gone++
		}
		x.at[r.span()] = len(l.list)
		if l.list = append(l.list, r); x.gone > len(l.list)/2 {
			l.list = slices.DeleteFunc(l.list, func(r taskRange) bool { return r.count == 0 })
			l.makeIndex()
		}
		return old, replaced
	}
	if at := slices.IndexFunc(l.list, func(o taskRange) bool { return o.span() == r.span() }); at >= 0 {
		old, replaced = l.list[at], true
		l.list = slices.Delete(l.list, at, at+1)
	}
	if l.list = append(l.list, r); len(l.list) > short {
		l.makeIndex()
	}
	return old, replaced
}

func (l *ranges) makeIndex() {
	l.index = &index{at: make(map[span]int, 2*len(l.list))}
	for i := range l.list {
		l.index.at[l.list[i].span()] = i
	}
}

// of returns the newest range with the task, nil if there is none: another attempt may have
// arrived after the first.
func (l *ranges) of(task int32) *taskRange {
	for i := range slices.Backward(l.list) {
		if r := &l.list[i]; task >= r.first && task < r.first+r.count {
			return r
		}
	}
	return nil
}

// each calls f for all ranges.
func (l *ranges) each(f func(*taskRange)) {
	for i := range l.list {
		if r := &l.list[i]; r.count > 0 {
			f(r)
		}
	}
}
