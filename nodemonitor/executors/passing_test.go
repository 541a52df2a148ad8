package executors_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// errSilent is the error of a call to a frontend that does not answer.
var errSilent = &client.CallError{Parts: &api.Error{What: "there is no answer"}, Cause: errors.New("connection refused")}

// A refusal whose reason may pass is a wait: the application, whose executors all nodes may refuse so
// at a time, does not end.
func TestRefusalThatMayPass(t *testing.T) {
	one := guard.New(guard.Options{MaxRunning: 1})
	t.Cleanup(func() { one.Close(0) })
	w := newWorld(t, func(c *executors.Config) {
		c.Guard = one
		c.Fetch = func(string) (wire.FileKeeper, error) { return nil, errSilent }
	})
	w.order(shell("full", "sleep 1000"), "1")
	w.awaitState("full", "1", api.ExecutorRunning)
	w.order(shell("full", "sleep 1000"), "1", "2")
	lacking := shell("lacking", "sleep 1000")
	lacking.Template.Files = []api.File{theFile()}
	w.order(lacking, "2")
	for app, want := range map[string]string{"full": "raise the node's max_processes", "lacking": "there is no answer"} {
		x := state(w.await("an executor of "+app+" is refused", func(h wire.Holdings) bool { return state(h, app, "2").Refused }), app, "2")
		if x.State.State != api.ExecutorWaiting || !strings.Contains(x.State.Reason, want) {
			t.Errorf("%s: %+v, want it to wait: %q", app, x, want)
		}
	}
}

// An executor that was stopped has ended, even if it could not have begun for now.
func TestStoppedBeforeItCouldWait(t *testing.T) {
	begun, silent := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(c *executors.Config) {
		c.Fetch = func(string) (wire.FileKeeper, error) {
			close(begun)
			<-silent
			return nil, errSilent
		}
	})
	a := shell("app", "sleep 1000")
	a.Template.Files = []api.File{theFile()}
	w.order(a, "1")
	<-begun
	w.order(a)
	close(silent)
	x := state(w.await("it has ended", func(h wire.Holdings) bool { return state(h, "app", "1").State.State != api.ExecutorStarting }), "app", "1")
	if x.State.State != api.ExecutorExited || x.Refused || !strings.HasPrefix(x.State.Reason, "it was stopped: ") {
		t.Errorf("%+v", x)
	}
}
