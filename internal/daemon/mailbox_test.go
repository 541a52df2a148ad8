package daemon_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/runloop"
)

// A question is answered, or refused with what to do next.
func TestAsk(t *testing.T) {
	var refuse error
	var waiting func()
	late := false
	o := daemon.Mailbox{Name: "frontend f", Post: func(do func()) error {
		switch {
		case refuse != nil:
			return refuse
		case late:
			waiting = do
		default:
			do()
		}
		return nil
	}}
	ask := func(ctx context.Context) (int, error) {
		return daemon.Ask(ctx, o, "counting", func() int { return 7 })
	}
	if n, err := ask(t.Context()); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for want, c := range map[string]struct {
		refuse  error
		ctx     context.Context
		problem api.Problem
	}{
		"5 entries":    {&runloop.FullError{Limit: 5}, t.Context(), api.Busy},
		"is stopping":  {runloop.ErrClosed, t.Context(), api.NotReady},
		"come in time": {nil, ended, api.NotReady},
	} {
		refuse, late = c.refuse, c.refuse == nil
		_, err := ask(c.ctx)
		var told *api.Error
		if !errors.As(err, &told) || told.Problem != c.problem || told.Subject != "frontend f" || told.Tried != "counting" || told.Next == "" || !strings.Contains(told.What, want) {
			t.Errorf("%s: %+v", want, err)
		}
	}
	waiting() // an answer that comes too late blocks nothing
}
