package executors_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// The outputs of executors stay at their addresses after their application is over, and after the node
// monitor was started again, for those who might read them before.
func TestOutputsAfterTheApplication(t *testing.T) {
	w := newWorld(t)
	a := shell("app", "echo the result; echo a warning >&2; exec sleep 1000")
	a.Submitter = "alice"
	w.order(a, "1")
	const stdout, stderr = "/applications/app/1/stdout", "/applications/app/1/stderr"
	await.Until(t, "the output", func() bool { _, text := w.log(stdout); return text == "the result\n" })
	w.orders++
	if r, err := w.OrderExecutors(t.Context(), &wire.Order{Frontend: "f1", Address: "f1:1", Tenure: 1, Sequence: w.orders, Application: a, Over: true}); err != nil || !r.Accepted {
		t.Fatal(r, err)
	}
	w.await("the end", func(h wire.Holdings) bool { return len(h.Applications) == 0 })
	check := func(when string, m *executors.Manager) {
		t.Helper()
		w := &world{Manager: m, t: t}
		await.Until(t, "its outputs "+when, func() bool {
			_, out := w.log(stdout)
			_, err := w.log(stderr)
			return out == "the result\n" && err == "a warning\n"
		})
		for name, want := range map[string]int{"alice": 200, "bob": 403} {
			if code, text := w.logAs(identity.Principal{Name: name, Role: identity.User}, stdout); code != want {
				t.Errorf("%s: read by %s: %d %s, want %d", when, name, code, text, want)
			}
		}
	}
	check("after the application", w.Manager)
	w.Close()
	again, err := executors.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	check("after a restart", again)

	cfg := w.cfg
	cfg.Retention = time.Nanosecond
	later, err := executors.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if code, text := (&world{Manager: later, t: t}).log(stdout); code != 404 || !strings.Contains(text, "log_retention") {
		t.Errorf("after its time: %d %s", code, text)
	}
}
