package after_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/after"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func id(n int) sched.JobID { return sched.JobID{Lo: uint64(n) + 1} }

func other(n, index int, anyhow bool) after.Other {
	return after.Other{Job: id(n), Index: int32(index), After: api.After{Job: fmt.Sprint(n), Any: anyhow}}
}

func TestAJobIsFreeAfterTheLastOfItsOthers(t *testing.T) {
	table := after.New()
	table.Hold(id(9), []after.Other{other(1, 0, false), other(2, 1, true)})
	steps := table.Ended(id(2), api.StateFailed)
	if len(steps) != 1 || steps[0].Free || steps[0].Hopeless || steps[0].Other.Index != 1 {
		t.Fatalf("after one of two: %+v", steps)
	}
	if w := table.Waits(id(9)); len(w) != 1 || w[0].Job != id(1) {
		t.Fatalf("it waits for %+v", w)
	}
	steps = table.Ended(id(1), api.StateCompleted)
	if len(steps) != 1 || !steps[0].Free || steps[0].Hopeless || table.Len() != 0 || len(table.Awaited()) != 0 {
		t.Fatalf("after both: %+v, %d are held", steps, table.Len())
	}
}

func TestAJobIsHopelessWhenOneOfItsOthersFails(t *testing.T) {
	table := after.New()
	table.Hold(id(9), []after.Other{other(1, 0, false), other(2, 1, true)})
	steps := table.Ended(id(1), api.StateCancelled)
	if len(steps) != 1 || !steps[0].Hopeless || steps[0].Free {
		t.Fatalf("%+v", steps)
	}
	if more := table.Ended(id(2), api.StateCompleted); len(more) != 0 || table.Len() != 0 {
		t.Errorf("it is heard of again: %+v", more)
	}
}

// The table agrees with a model that examines every job at each event, on any order of
// events.
func TestTableAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const jobs = 12
		table := after.New()
		model := map[int][]after.Other{} // of held jobs: those that have not ended
		ended := map[int]bool{}
		for range 40 {
			n := rapid.IntRange(0, jobs-1).Draw(t, "job")
			switch rapid.SampledFrom([]string{"hold", "end", "drop"}).Draw(t, "what") {
			case "hold":
				var list []after.Other
				for before := range n { // only earlier jobs
					if !ended[before] && rapid.Bool().Draw(t, "named") {
						list = append(list, other(before, len(list), rapid.Bool().Draw(t, "any")))
					}
				}
				if _, known := model[n]; !known && !ended[n] && len(list) > 0 {
					model[n] = list
					table.Hold(id(n), list)
				}
			case "drop":
				delete(model, n)
				table.Drop(id(n))
			case "end":
				if _, known := model[n]; known || ended[n] {
					continue
				}
				ended[n] = true
				s := rapid.SampledFrom([]api.State{api.StateCompleted, api.StateFailed}).Draw(t, "state")
				got := map[int]string{}
				for _, step := range table.Ended(id(n), s) {
					got[int(step.Job.Lo)-1] = fmt.Sprint(step.Other.Job, step.Free, step.Hopeless)
				}
				want := map[int]string{}
				for held, list := range model {
					at := slices.IndexFunc(list, func(o after.Other) bool { return o.Job == id(n) })
					if at < 0 {
						continue
					}
					hopeless := s != api.StateCompleted && !list[at].After.Any
					rest := slices.Delete(slices.Clone(list), at, at+1)
					want[held] = fmt.Sprint(id(n), len(rest) == 0 && !hopeless, hopeless)
					if model[held] = rest; hopeless || len(rest) == 0 {
						delete(model, held)
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("the end of %d: %v, want %v", n, got, want)
				}
			}
			if table.Len() != len(model) {
				t.Fatalf("%d are held, want %d", table.Len(), len(model))
			}
			for held, list := range model {
				if !slices.Equal(table.Waits(id(held)), list) {
					t.Fatalf("%d waits for %v, want %v", held, table.Waits(id(held)), list)
				}
			}
		}
	})
}

// BenchmarkDrop cancels one of many jobs that wait for the same one, and holds it again.
func BenchmarkDrop(b *testing.B) {
	const jobs = 20_000
	table, last := after.New(), []after.Other{other(jobs, 0, false)}
	for i := range jobs {
		table.Hold(id(i), last)
	}
	for n := 0; b.Loop(); n += 7919 {
		table.Drop(id(n % jobs))
		table.Hold(id(n%jobs), last)
	}
}
