package queue_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// TestOthersWait: whether owners other than an application's wait agrees with a look at all
// waiting tasks, with owners that are ancestors, siblings and descendants of each other.
func TestOthersWait(t *testing.T) {
	type waiting struct {
		job        *queue.Job
		app, owner string
		class      sched.Class
	}
	apps, owners := []string{"", "a", "b"}, []string{"", "bob", "team", "team/alice", "team/alice/x", "teams"}
	rapid.Check(t, func(t *rapid.T) {
		x, list := queue.NewIndex(), []waiting(nil)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				w := waiting{app: rapid.SampledFrom(apps).Draw(t, "app"), owner: rapid.SampledFrom(owners).Draw(t, "owner"), class: sched.Class(rapid.IntRange(0, 1).Draw(t, "class"))}
				w.job = &queue.Job{Class: w.class}
				x.Enter(w.job, w.app, w.owner, rapid.Int32Range(-1, 1).Draw(t, "priority"))
				x.PushTail(0, w.job, 0, 1, 1)
				list = append(list, w)
			},
			"take": func(t *rapid.T) {
				if len(list) == 0 {
					t.Skip("nothing waits")
				}
				at := rapid.IntRange(0, len(list)-1).Draw(t, "at")
				w := list[at]
				list = slices.Delete(list, at, at+1)
				x.Remove(w.job, 0, 1)
				x.Exit(w.job)
			},
			"": func(t *rapid.T) {
				for _, app := range apps {
					for _, owner := range owners {
						for c := range sched.Class(sched.NumClasses) {
							want := slices.ContainsFunc(list, func(w waiting) bool { return w.class <= c && (w.app != app || w.owner != owner) })
							if got := x.OthersWait(app, owner, c); got != want {
								t.Fatalf("others than application %q for %q wait as %v tasks: %v, want %v; there wait %+v", app, owner, c, got, want, list)
							}
						}
					}
				}
			},
		})
	})
}
