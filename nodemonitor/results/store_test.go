package results

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

func attemptOf(job uint64, task int32) sched.AttemptID {
	return sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: job}, Task: task, Attempt: 1}
}

// valid returns which of the invariants of the store does not hold.
func (s *store) valid(lists ...*list) string {
	seen, bytes := 0, int64(0)
	for _, l := range lists {
		place, last := l.first, int32(-1)
		for i := range l.n {
			r := &s.table[place]
			switch {
			case r.list != l:
				return "a result does not know its list"
			case i > 0 && r.prev != last:
				return "a result does not know the one before it"
			case s.index[r.ID] != place:
				return "the index has another place"
			}
			seen++
			bytes += r.bytes()
			last, place = place, r.next
		}
		if l.n > 0 && last != l.last {
			return "a list does not know its end"
		}
	}
	switch {
	case seen != len(s.index) || seen+len(s.free) != len(s.table):
		return "results, index and free places do not add up"
	case bytes != s.bytes:
		return "the bytes do not add up"
	}
	return ""
}

// TestStoreAgainstSlices: the linked table against two slices.
func TestStoreAgainstSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(1000, 1<<20, 0)
		var lists [2]list
		var model [2][]sched.AttemptID
		in := func(id sched.AttemptID) int {
			for i := range model {
				if slices.Contains(model[i], id) {
					return i
				}
			}
			return -1
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := attemptOf(uint64(rapid.IntRange(0, 2).Draw(t, "job")), int32(rapid.IntRange(0, 4).Draw(t, "task")))
			which := rapid.IntRange(0, 1).Draw(t, "list")
			at := in(id)
			switch rapid.IntRange(0, 3).Draw(t, "act") {
			case 0:
				if kept := s.keep(Result{ID: id, Reason: "why"}, 0, nil, &lists[which]); kept != (at < 0) {
					t.Fatalf("keep of %v is %v", id, kept)
				}
				if at < 0 {
					model[which] = append(model[which], id)
				}
			case 1:
				if dropped := s.drop(id); dropped != (at >= 0) {
					t.Fatalf("drop of %v is %v", id, dropped)
				}
				if at >= 0 {
					model[at] = slices.DeleteFunc(model[at], func(o sched.AttemptID) bool { return o == id })
				}
			case 2:
				if at >= 0 {
					s.move(s.index[id], &lists[which])
					model[at] = slices.DeleteFunc(model[at], func(o sched.AttemptID) bool { return o == id })
					model[which] = append(model[which], id)
				}
			case 3:
				number := int64(0)
				if at >= 0 {
					number = s.table[s.index[id]].number
				}
				wrong := rapid.Int64Range(0, 1).Draw(t, "wrong")
				if found := s.keeps(id, number+wrong, nil); found != (at >= 0 && wrong == 0) {
					t.Fatalf("the result of %v with number %d+%d is found: %v", id, number, wrong, found)
				}
			}
			if fault := s.valid(&lists[0], &lists[1]); fault != "" {
				t.Fatal(fault)
			}
		}
		for i := range lists {
			var got []sched.AttemptID
			for place, n := lists[i].first, lists[i].n; n > 0; n-- {
				got = append(got, s.table[place].ID)
				place = s.table[place].next
			}
			if !slices.Equal(got, model[i]) {
				t.Fatalf("list %d has %v, want %v", i, got, model[i])
			}
		}
	})
}
