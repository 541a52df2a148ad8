package ended

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Of attempts that end in no time, the last 4,096 or so are kept.
func TestBound(t *testing.T) {
	var l List
	const many = 3 * most
	for task := range int32(many) {
		l.Add(0, sched.AttemptID{Task: task}, sched.Addr{}, 0)
	}
	var got []int32
	l.Each(func(id sched.AttemptID, _ sched.Addr) { got = append(got, id.Task) })
	if len(got) < most-1 || len(got) > most || got[len(got)-1] != many-1 || got[0] != many-int32(len(got)) {
		t.Errorf("%d are kept, from %d to %d", len(got), got[0], got[len(got)-1])
	}
}

// Against a list that keeps everything: the list gives the attempts that were added
// in the last ten seconds and not removed, in order.
func TestAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l List
		var all []attempt
		var now sched.Time
		task := int32(0)
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) { now += sched.Time(rapid.IntRange(0, 4000).Draw(t, "ms")) * sched.Millisecond },
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(t, "count") {
					a := attempt{sched.AttemptID{Task: task, Attempt: 1}, sched.Addr{Role: sched.Distributor, ID: task % 3}, now, uint64(task)}
					all = append(all, a)
					l.Add(now, a.id, a.distributor, a.launch)
					task++
				}
			},
			"remove": func(t *rapid.T) {
				if len(all) == 0 {
					return
				}
				at := rapid.IntRange(max(0, len(all)-10), len(all)-1).Draw(t, "which")
				if launch := all[at].launch; launch > 0 {
					if _, known := l.Refused(all[at].id, launch-1); known {
						t.Fatalf("a refusal of a former launch of %v is taken for its own", all[at])
					}
				}
				distributor, known := l.Refused(all[at].id, all[at].launch+rapid.Uint64Max(2).Draw(t, "later"))
				if known && distributor != all[at].distributor || !known && now == all[at].at {
					t.Fatalf("removing %v: %v, %v", all[at], distributor, known)
				}
				all = slices.Delete(all, at, at+1)
			},
			"": func(t *rapid.T) {
				want := slices.DeleteFunc(slices.Clone(all), func(a attempt) bool { return now-a.at > Keep })
				var got []attempt
				l.recent(now, func(id sched.AttemptID) { got = append(got, attempt{id: id}) })
				if !slices.EqualFunc(got, want, func(g, w attempt) bool { return g.id == w.id }) {
					t.Fatalf("recent are %v, want %v", got, want)
				}
				got = got[:0]
				l.Each(func(id sched.AttemptID, distributor sched.Addr) {
					got = append(got, attempt{id: id, distributor: distributor})
				})
				if len(got) < len(want) {
					t.Fatalf("%d are given of %d", len(got), len(want))
				}
				for i, a := range want {
					if g := got[len(got)-len(want)+i]; g.id != a.id || g.distributor != a.distributor {
						t.Fatalf("given is %v, want %v", g, a)
					}
				}
			},
		})
	})
}

// Results that are kept count as ended just now, once each; one that was not known has
// an unknown distributor. The order by time and the bound stay.
func TestKeep(t *testing.T) {
	var l List
	id := func(task int32) sched.AttemptID { return sched.AttemptID{Task: task, Attempt: 1} }
	distributor := sched.Addr{Role: sched.Distributor, ID: 3}
	for task := range int32(4) {
		l.Add(sched.Time(task)*sched.Second, id(task), distributor, 0)
	}
	l.Keep(8*sched.Second, []sched.AttemptID{id(1), id(9), id(1)})
	l.Keep(8*sched.Second, nil)
	type end struct {
		task        int32
		distributor int32
	}
	var got []end
	l.Each(func(id sched.AttemptID, o sched.Addr) { got = append(got, end{id.Task, o.ID}) })
	if want := []end{{0, 3}, {2, 3}, {3, 3}, {1, 3}, {9, sched.Everyone}}; !slices.Equal(got, want) {
		t.Errorf("the list has %v, want %v", got, want)
	}
	var recent []int32
	l.recent(13*sched.Second-1, func(id sched.AttemptID) { recent = append(recent, id.Task) })
	if want := []int32{3, 1, 9}; !slices.Equal(recent, want) {
		t.Errorf("recent are %v, want %v", recent, want)
	}
}

// An attempt for which an index answered counts as ended at that time.
func TestAnsweredFor(t *testing.T) {
	lists := make([]List, 2)
	each := func(yield func(*List) bool) { _ = yield(&lists[0]) && yield(&lists[1]) }
	id := func(job uint64, task int32) sched.AttemptID {
		return sched.AttemptID{Job: sched.JobID{Lo: job}, Task: task, Attempt: 1}
	}
	lists[0].Add(0, id(1, 0), sched.Addr{}, 0)
	lists[1].Add(0, id(1, 1), sched.Addr{}, 0)
	lists[1].Add(0, id(2, 0), sched.Addr{}, 0)
	var x Index
	if got := x.Of(9*sched.Second, sched.JobID{Lo: 1}, each); !slices.Equal(got, []sched.AttemptID{id(1, 0), id(1, 1)}) {
		t.Errorf("job 1 has %v", got)
	}
	if got := x.Of(18*sched.Second, sched.JobID{Lo: 2}, each); len(got) > 0 {
		t.Errorf("job 2 has %v", got)
	}
	if got := x.Of(18*sched.Second, sched.JobID{Lo: 1}, each); len(got) != 2 {
		t.Errorf("later, job 1 has %v", got)
	}
}
