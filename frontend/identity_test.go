package frontend_test

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// A client that asks only one frontend about a key names it; another one refuses the job,
// so that a repetition never becomes a second job there.
func TestAJobForAnotherFrontendIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 1)
	f := w.frontend()
	me, err := f.Identify(t.Context())
	if err != nil || me.Name != f.cfg.ID || me.SharedKeys {
		t.Errorf("it is %+v, %v", me, err)
	}
	r := sleeps("mine", 1, 0)
	r.Frontend = me.Name
	w.submit(f, r)
	r = sleeps("other", 1, 0)
	r.Frontend = "frontend-9"
	_, _, err = f.Submit(t.Context(), r)
	if e := refusal(t, err); e.Problem != api.NotFound || !strings.Contains(e.Error(), "frontend-9") {
		t.Errorf("refused with %v", e)
	}
	if _, err := f.Status(t.Context(), "other"); err == nil {
		t.Error("it was accepted")
	}
}
