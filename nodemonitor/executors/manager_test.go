package executors_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// An executor gets its arguments and environment, and leaves a log until its application is
// over.
func TestLife(t *testing.T) {
	w := newWorld(t)
	a := shell("app", `echo "$0 $1 $WHO"; cat "$2"; echo trouble >&2; sleep 1000`)
	a.Template.Argv = append(a.Template.Argv, "{{APP_ID}}/{{EXECUTOR_ID}}", "{{HOSTNAME}} {{SLOTS}} {{NODE}} {{LOG_STDOUT}}", "{{FILE:f.txt}}")
	a.Template.Env = []string{"WHO=token-{{TOKEN}}"}
	a.Template.Files = []api.File{theFile()}
	w.order(a, "1")
	x := w.awaitState("app", "1", api.ExecutorRunning)
	if x.State.Node != "n1" || x.State.Host != "host1" || x.Slots != 4 || !strings.HasSuffix(x.State.Stderr, "/applications/app/1/stderr") {
		t.Errorf("%+v", x)
	}
	var out string
	w.await("its output", func(wire.Holdings) bool {
		_, out = w.log("/applications/app/1/stdout")
		_, trouble := w.log("/applications/app/1/stderr")
		return strings.Contains(out, content) && trouble != ""
	})
	if want := "app/1 host1 4 127.0.0.1:20501 http://127.0.0.1:8080/applications/app/1/stdout token-"; !strings.HasPrefix(out, want) {
		t.Errorf("%q, want %q", out, want)
	}
	w.order(a)
	x = w.awaitState("app", "1", api.ExecutorExited)
	if x.State.ExitStatus != 128+int(syscall.SIGTERM) || !strings.Contains(x.State.Reason, "does not need it") || x.Refused {
		t.Errorf("%+v", x)
	}
	if _, text := w.log("/applications/app/1/stderr"); text != "trouble\n" {
		t.Errorf("the log of an ended executor: %q", text)
	}
	w.over(a)
	w.await("all is gone", func(h wire.Holdings) bool {
		left, _ := filepath.Glob(w.cfg.Folder + "/*")
		hidden, _ := filepath.Glob(w.cfg.Folder + "/.over*")
		return len(h.Applications) == 0 && len(left)+len(hidden) == 0
	})
	if status, text := w.log("/applications/app/1/stderr"); status != 200 || text != "trouble\n" {
		t.Errorf("the log of an application that is over: %d, %q", status, text)
	}
}

func (w *world) over(a api.Application) {
	w.t.Helper()
	w.orders++
	if _, err := w.OrderExecutors(w.t.Context(), &wire.Order{Frontend: "f1", Tenure: 1, Sequence: w.orders, Application: a, Over: true}); err != nil {
		w.t.Fatal(err)
	}
}

// An executor that ends by itself is reported with the way it ended and the end of its
// stderr, and does not come back when it is ordered again.
func TestExit(t *testing.T) {
	w := newWorld(t)
	a := shell("app", "echo no class >&2; exit 3")
	w.order(a, "1")
	x := w.awaitState("app", "1", api.ExecutorExited)
	if x.State.ExitStatus != 3 || x.State.Reason != "it exited with status 3; its stderr ends: no class" || x.Refused {
		t.Errorf("%+v", x)
	}
	w.order(a, "1")
	if h := w.Held(); len(h.Applications[0].Executors) != 1 || h.Used != 0 {
		t.Errorf("%+v", h)
	}
}

// Memory goes to the executor that comes first; the refusal names the holders.
func TestMemory(t *testing.T) {
	w := newWorld(t)
	a, b := shell("first", "sleep 1000"), shell("second", "sleep 1000")
	a.Template.Memory, b.Template.Memory = 400, 300
	w.order(a, "1", "2")
	w.orders = 0
	w.order(b, "1")
	x := w.awaitState("second", "1", api.ExecutorWaiting)
	for _, part := range []string{"300 MB", "1000 MB", "800 MB are taken", "(first 800 MB)", "raise the node's memory"} {
		if !strings.Contains(x.State.Reason, part) {
			t.Errorf("%q does not say %q", x.State.Reason, part)
		}
	}
	if !x.Refused || w.Held().Used != 800 {
		t.Errorf("%+v, %d MB used", x, w.Held().Used)
	}
}

// The order of the highest tenure counts; executors that it names live on.
func TestTakenOver(t *testing.T) {
	w := newWorld(t)
	a := shell("app", "sleep 1000")
	w.order(a, "1", "2")
	w.awaitState("app", "1", api.ExecutorRunning)
	w.awaitState("app", "2", api.ExecutorRunning)
	second := &wire.Order{Frontend: "f2", Tenure: 1, Sequence: 1, Application: a, Executors: []string{"1"}}
	r, err := w.OrderExecutors(t.Context(), second)
	if want := (wire.OrderReply{Tenure: 1, Frontend: "f1", Incarnation: 1}); err != nil || r != want {
		t.Errorf("%+v, %v: want %+v", r, err, want)
	}
	second.Tenure = 2
	if r, err := w.OrderExecutors(t.Context(), second); err != nil || !r.Accepted {
		t.Errorf("%+v, %v", r, err)
	}
	w.awaitState("app", "2", api.ExecutorExited)
	if r, _ := w.OrderExecutors(t.Context(), &wire.Order{Frontend: "f1", Tenure: 1, Sequence: 99, Application: a, Over: true}); r.Accepted || r.Frontend != "f2" {
		t.Errorf("the old frontend ended it: %+v", r)
	}
	// An older order of the new one changes nothing.
	second.Sequence, second.Executors = 0, nil
	if r, _ := w.OrderExecutors(t.Context(), second); !r.Accepted || state(w.Held(), "app", "1").State.State != api.ExecutorRunning {
		t.Errorf("%+v", r)
	}
	other := a
	other.Incarnation = 2
	if r, _ := w.OrderExecutors(t.Context(), &wire.Order{Frontend: "f2", Tenure: 3, Sequence: 9, Application: other}); r.Accepted || r.Incarnation != 1 {
		t.Errorf("another process of the application is let in: %+v", r)
	}
}

// A call for holdings returns when they change, and renews the lease; without such calls it
// ends.
func TestLease(t *testing.T) {
	w := newWorld(t, func(c *executors.Config) { c.Lease = 2 * time.Second })
	a := shell("app", "sleep 1000")
	w.order(a, "1")
	var h wire.Holdings
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		next, err := w.Holdings(t.Context(), "f1", h.Incarnation, h.Version, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if h = next; len(h.Applications) != 1 {
			t.Fatalf("it ended although its frontend polled: %+v", h)
		}
	}
	w.awaitState("app", "1", api.ExecutorRunning)
	w.await("it ends without", func(h wire.Holdings) bool { return len(h.Applications) == 0 })
}

// An executor that takes no grants has its slots before it starts.
func TestHoldsSlots(t *testing.T) {
	w := newWorld(t)
	a := shell("app", "sleep 1000")
	a.Grants, a.Template.Slots = false, 3
	w.order(a, "1", "2")
	x := w.awaitState("app", "2", api.ExecutorWaiting)
	if !x.Refused || !strings.Contains(x.State.Reason, "(app 3 slots)") {
		t.Errorf("%+v", x)
	}
	w.await("it is served", func(wire.Holdings) bool { return slices.Equal(w.holds.Serving(), []string{"app/1"}) })
	w.await("it waits", func(h wire.Holdings) bool { return strings.Contains(state(h, "app", "1").State.Reason, "3 slots") })
	done := w.offer("app/1", 3)
	w.awaitState("app", "1", api.ExecutorRunning)
	w.order(a)
	for range 3 {
		select {
		case <-done:
		case <-time.After(await.Limit):
			t.Fatal("a slot is held after the end of its executor")
		}
	}
}

// An executor that needs what a node cannot provide is refused with what is missing and
// where to get it.
func TestRefusals(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "core-3.5.jar"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *executors.Config) { c.Runtimes = map[string]string{"spark": home} })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		set  func(*api.Template)
		want []string
	}{
		"runtime": {func(x *api.Template) {
			x.Runtime = &api.Runtime{Name: "spark", Version: "4.1.4", Path: "/nowhere", MustHold: []string{"core-4.1.jar"}, Shows: []string{"core-*.jar"}, Setting: "spark.home"}
		}, []string{"spark 4.1.4", home + " has no core-4.1.jar (there is core-3.5.jar)", "/nowhere has no such folder", "spark=HOME", "spark.home"}},
		"reach": {func(x *api.Template) { x.Reach, x.ReachSetting = address, "spark.driver.host" },
			[]string{"cannot connect", address, "set spark.driver.host"}},
		"java":    {func(x *api.Template) { x.Env = []string{"JAVA_HOME=/nowhere", "J={{JAVA_HOME}}"} }, nil},
		"program": {func(x *api.Template) { x.Argv = []string{"/nowhere/bin/x"} }, []string{"/nowhere/bin/x", "does not exist"}},
		"file": {func(x *api.Template) {
			x.Files = []api.File{{Name: "g", SHA256: strings.Repeat("00", 32), Size: int64(len(content))}}
		}, []string{`file "g"`, "SHA-256", "register the application again"}},
	} {
		a := shell(name, "sleep 1000")
		c.set(&a.Template)
		if name == "java" {
			t.Setenv("JAVA_HOME", "")
			t.Setenv("PATH", "/nowhere")
			c.want = []string{"no bin/java in /nowhere", "install Java"}
		}
		w.orders = 0
		w.order(a, "1")
		x := w.awaitState(name, "1", api.ExecutorExited)
		for _, part := range append(c.want, name, `node "n1"`) {
			if !strings.Contains(x.State.Reason, part) {
				t.Errorf("%s: %q does not say %q", name, x.State.Reason, part)
			}
		}
		if !x.Refused {
			t.Errorf("%s: it is no refusal", name)
		}
	}
}

// Close ends what runs, accepts nothing more, and is safe twice.
func TestClose(t *testing.T) {
	w := newWorld(t)
	a := shell("app", "echo $$ > pid; trap '' TERM; sleep 1000")
	w.order(a, "1")
	w.awaitState("app", "1", api.ExecutorRunning)
	w.Close()
	w.Close()
	_, err := w.OrderExecutors(t.Context(), &wire.Order{Frontend: "f1", Tenure: 1, Sequence: 9, Application: a, Executors: []string{"2"}})
	var e *api.Error
	if !errors.As(err, &e) || e.Problem != api.NotReady {
		t.Error(err)
	}
	if h := w.Held(); len(h.Applications) != 0 {
		t.Errorf("%+v", h)
	}
}

// An executor starts once, even if so many have ended since that the node does not name its end any
// more: a frontend may repeat an order before it has learned of any end.
func TestRepeatedOrderAfterManyEnds(t *testing.T) {
	w := newWorld(t, func(c *executors.Config) { c.Memory = 100_000 })
	starts := filepath.Join(t.TempDir(), "starts")
	a := shell("app", "echo started >> "+starts)
	var ids []string
	for i := range 130 {
		ids = append(ids, strconv.Itoa(i))
	}
	w.order(a, ids...)
	ended := func(h wire.Holdings) bool {
		return !slices.ContainsFunc(h.Applications[0].Executors, func(x wire.HeldExecutor) bool { return x.State.State != api.ExecutorExited })
	}
	w.await("all have ended", ended)
	w.order(a, append(ids, "130")...)
	w.await("all have ended again", ended)
	text, err := os.ReadFile(starts)
	if lines := strings.Fields(string(text)); len(lines) != len(ids)+1 || err != nil {
		t.Errorf("%d executors were started, want %d, %v", len(lines), len(ids)+1, err)
	}
}
