package pigeon_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/coretest"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// seen counts what masters do that only variants do.
type seen map[sched.Kind]int

func (s seen) observe(_ sched.Core, _ *sched.Message, out []sched.Action) error {
	for i := range out {
		kind := out[i].Msg.Kind
		if kind == sched.Returned && out[i].Msg.Peer.Role != sched.Master {
			continue // not a move
		}
		s[kind]++
	}
	return nil
}

// variant draws pigeon-sort or pigeon-x with options. Classes are drawn, so half of
// them are wrong, and a short task passes the cutoff soon.
func variant(t *rapid.T, cfg *coretest.Config) {
	o := pigeon.XOptions()
	o.Guard = rapid.Bool().Draw(t, "guard")
	o.Canary = rapid.Bool().Draw(t, "canary")
	o.Tail = rapid.IntRange(0, 3).Draw(t, "tail") > 0
	if rapid.Bool().Draw(t, "patient") {
		o.Patience = 50 * sched.Millisecond
	}
	cfg.Params.Cutoff = 300 * sched.Millisecond
	if rapid.IntRange(0, 2).Draw(t, "policy") == 0 {
		cfg.Policy = pigeon.SortPolicy(o)
		return
	}
	cfg.Policy = pigeon.XPolicy(o)
	cfg.Params.Reserved, cfg.Params.Weight = 0, 0
}

// The same as TestNothingIsLost for the variants: masters that are lost while a task
// moves, workers that are lost with a suspended task, duplicates, cancels of what
// moved or is suspended, frontends that restart. Each job completes once, and nobody
// keeps anything of it.
func TestVariantsLoseNothing(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 2
	}
	kinds := seen{}
	for range rounds {
		rapid.Check(t, func(t *rapid.T) {
			cfg := cluster(t)
			variant(t, &cfg)
			cfg.Observe = kinds.observe
			coretest.Chaos(t, cfg, []string{"", "app"})
		})
	}
	for _, k := range []sched.Kind{sched.Spare, sched.Returned, sched.Preempt, sched.Continue, sched.Yield, sched.Reclass} {
		if kinds[k] == 0 {
			t.Errorf("no %s in any run: the test shows little", k)
		}
	}
	t.Logf("%d moves, %d suspensions, %d continued, %d canaries stopped, %d classes told", kinds[sched.Returned], kinds[sched.Preempt],
		kinds[sched.Continue], kinds[sched.Yield], kinds[sched.Reclass])
}
