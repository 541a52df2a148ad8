package dispatch

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Groups in which tasks wait for the same have one sentence together, and each has its reason.
func TestOneSentenceForGroupsThatWaitAlike(t *testing.T) {
	t.Parallel()
	e := &explanations{core: &core{opts: Options{Policy: pigeon.Policy()}}}
	busy := func(g int) wire.JobView {
		return wire.JobView{Share: api.GroupShare{Group: g, Reachable: true, Queued: 10, AheadLong: 20, Serving: 8, OldestLong: float64(g)}}
	}
	views := []wire.JobView{busy(0), {Share: api.GroupShare{Group: 1}}, busy(2), {Share: api.GroupShare{Group: 3}}, busy(4)}
	views = append(views, wire.JobView{Share: api.GroupShare{Group: 5, Reachable: true, Queued: 7}}) // nobody serves it
	for g := 6; g < 100; g++ {
		views = append(views, busy(g))
	}
	s := &api.Status{Tasks: 2000, Running: 3}
	why := e.WaitSentences(s, sched.Long, views)
	text := strings.Join(why, "\n")
	if len(why) != 4 || len(text) > 1000 {
		t.Errorf("%d sentences:\n%s", len(why), text)
	}
	for _, want := range []string{
		"977 wait in queues", "The masters of groups 1 and 3 cannot be reached", "Groups 0, 2, 4, 6, 7 and 92 more: 970 of its tasks wait among 1940 long ones", "The oldest long one waits 99.000 s",
		"Group 5: 7 of its tasks wait for a worker that serves its application",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for i, want := range map[int]api.WaitReason{0: api.WaitsForWorker, 1: api.WaitsForMaster, 5: api.WaitsForBackend, 99: api.WaitsForWorker} {
		if got := views[i].Share.Reason; got != want {
			t.Errorf("group %d: %q, want %q", i, got, want)
		}
	}
}
