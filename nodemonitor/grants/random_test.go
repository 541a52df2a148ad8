package grants_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"pgregory.net/rapid"
)

// Whatever happens, every grant ends once, none that reached an executor ends
// before the executor returns it or ends, and no executor has more than its slots.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, func(c *grants.Config) { c.Fetch = 1 << 40 })
		defer w.Close()
		ids := []string{"1", "2", "3"}
		live := map[string]int{}           // slots
		bound := map[string]map[int]bool{} // by executor: what reached it
		after := map[string]int64{}
		tasks := 0
		name := map[string]int{}
		rt.Repeat(map[string]func(*rapid.T){
			"attach": func(rt *rapid.T) {
				id := rapid.SampledFrom(ids).Draw(rt, "executor")
				if live[id] == 0 {
					live[id] = rapid.IntRange(1, 3).Draw(rt, "slots")
					bound[id], after[id] = map[int]bool{}, 0
					w.attach(id, live[id])
				}
			},
			"start": func(rt *rapid.T) {
				tasks++
				name[attempt(tasks).String()] = tasks
				w.start(tasks)
			},
			"await": func(rt *rapid.T) {
				id := rapid.SampledFrom(ids).Draw(rt, "executor")
				if live[id] == 0 {
					return
				}
				got, upTo := w.await(id, after[id])
				for _, g := range got {
					bound[id][name[g]] = true
				}
				if rapid.Bool().Draw(rt, "notices arrive") {
					after[id] = upTo
				}
				if len(bound[id]) > live[id] {
					rt.Fatalf("executor %s has %d grants and %d slots", id, len(bound[id]), live[id])
				}
			},
			"end": func(rt *rapid.T) {
				id := rapid.SampledFrom(ids).Draw(rt, "executor")
				if len(bound[id]) == 0 {
					return
				}
				n := slices.Min(slices.Collect(maps.Keys(bound[id])))
				w.finish(id, rapid.IntRange(api.GrantUsed, api.GrantUnfit).Draw(rt, "how"), n)
				delete(bound[id], n)
				if w.outcome(n) == 0 {
					rt.Fatalf("task %d was ended and is not", n)
				}
			},
			"remove": func(rt *rapid.T) {
				id := rapid.SampledFrom(ids).Draw(rt, "executor")
				if live[id] == 0 {
					return
				}
				w.Remove("a", id, "test")
				for n := range bound[id] {
					if w.outcome(n) == 0 {
						rt.Fatalf("task %d outlives its executor", n)
					}
				}
				delete(live, id)
				delete(bound, id)
			},
			"kill": func(rt *rapid.T) {
				if tasks > 0 {
					w.Kill(attempt(rapid.IntRange(1, tasks).Draw(rt, "task")))
				}
			},
			"": func(rt *rapid.T) {
				for id, list := range bound {
					for n := range list {
						if w.outcome(n) != 0 {
							rt.Fatalf("task %d is bound to executor %s and has ended: %v", n, id, w.outcome(n))
						}
					}
				}
			},
		})
		w.Close()
		for n := 1; n <= tasks; n++ {
			if w.outcome(n) == 0 {
				rt.Fatalf("task %d never ended", n)
			}
		}
	})
}
