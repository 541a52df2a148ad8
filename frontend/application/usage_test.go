package application

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// An application that is over is put into the history with all that it used, also what is reported a moment
// after its end, and says how it ended.
func TestUsageOfApplications(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(d *cluster, a *application)
		state api.State
		why   string
	}{
		"by itself": {func(d *cluster, a *application) { a.endedItself = true; d.end(a, "it has ended") }, api.StateCompleted, ""},
		"cancelled": {func(d *cluster, a *application) { d.cancel("app", "it was cancelled by alice", d.now) }, api.StateCancelled, "by alice"},
		"silent":    {func(d *cluster, a *application) { d.now = d.now.Add(time.Minute); d.tick(d.now) }, api.StateCancelled, "it was silent"},
		"failed":    {func(d *cluster, a *application) { a.executors.final = "no Java"; d.end(a, "it has ended") }, api.StateFailed, "no Java"},
	} {
		d := newCluster(t, "a", "b")
		a := d.serve(2)
		a.Owner, a.Name = "team", "etl"
		d.used("app", "team", sched.Short, 2*time.Second, true)
		c.end(d, a)
		d.round()
		if d.apps["app"] != nil {
			t.Fatalf("%s: it is still there", name)
		}
		d.used("app", "team", sched.Long, 5*time.Second, false)
		d.used("app", "lab", sched.Short, time.Second, true)
		d.tick(d.now)
		if n := len(d.effects.ended); n != 0 {
			t.Errorf("%s: %d lines at once", name, n)
		}
		d.tick(d.now.Add(closingFor))
		got := d.effects.ended
		if len(got) != 2 || got[0].Job != "app/lab" || got[0].SlotSeconds != 1 || got[1].Job != "app" {
			t.Fatalf("%s: %+v", name, got)
		}
		if u := got[1]; u.State != c.state || !strings.Contains(u.Reason, c.why) || u.Name != "etl" || u.Class != "long" || u.SlotSeconds != 7 || u.Completed != 1 || u.Failed != 1 || u.Attempts != 2 {
			t.Errorf("%s: %+v", name, u)
		}
	}
}
