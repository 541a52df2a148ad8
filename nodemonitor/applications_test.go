package nodemonitor

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A node runs executors by order of a frontend, shows their outputs and the slots that
// it gives them, and ends them when it ends.
func TestExecutors(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(func(c *Config) { c.Memory, c.HTTP, c.Slots = 100, "127.0.0.1:0", 2 })
	peer := daemontest.Dial(t, n.Addrs().Internal, daemontest.Codec())
	a := api.Application{ID: "app", Incarnation: 1, Grants: true, Template: api.Template{
		Argv: []string{"sh", "-c", "echo at {{NODE}}, {{SLOTS}} slots, {{LOG_STDERR}}; exec sleep 1000"}, Memory: 60,
	}}
	order := &wire.Order{Frontend: "f", Address: "f:1", Tenure: 1, Sequence: 1, Application: a, Executors: []string{"1", "2"}}
	if r, err := peer.OrderExecutors(t.Context(), order); err != nil || !r.Accepted {
		t.Fatalf("%+v, %v", r, err)
	}
	held := func() (x []wire.HeldExecutor) {
		h, err := peer.Holdings(t.Context(), "f", 0, 0, 0)
		if err != nil || len(h.Applications) != 1 {
			t.Fatalf("%+v, %v", h, err)
		}
		return h.Applications[0].Executors
	}
	daemontest.Await(t, "one runs, the other finds no memory", func() bool {
		x := held()
		return len(x) == 2 && x[0].Refused && x[1].State.State == api.ExecutorRunning
	})
	url := held()[1].State.Stdout
	var text string
	daemontest.Await(t, "its output", func() bool { text = get(t, url); return strings.Contains(text, "slots") })
	if want := "at " + n.Addrs().Listen + ", 2 slots, http://" + n.Addrs().HTTP + "/applications/app/1/stderr"; !strings.HasPrefix(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
	if page := get(t, "http://"+n.Addrs().HTTP+"/status"); !strings.Contains(page, `"memory":{"total":100,"used":60}`) || !strings.Contains(page, `"executor":"1"`) {
		t.Error(page)
	}
	if page := get(t, "http://"+n.Addrs().HTTP+"/metrics"); !strings.Contains(page, "pigeon_nodemonitor_grants_held 0") {
		t.Error("no metric of grants")
	}
	// An executor that runs keeps its node from being drained, although no slot is left.
	drain := func() wire.DrainReply {
		r, err := peer.Drain(t.Context(), wire.DrainOrder{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := drain(); r.State != api.StateDraining || r.Running != 1 {
		t.Errorf("a node with an executor that was told to drain: %+v", r)
	}
	order.Sequence, order.Executors = 2, nil
	if r, err := peer.OrderExecutors(t.Context(), order); err != nil || !r.Accepted {
		t.Fatalf("%+v, %v", r, err)
	}
	daemontest.Await(t, "the node is drained", func() bool { r := drain(); return r.State == api.StateDrained && r.Running == 0 })
}

// A drain without a deadline completes although an executor waits for slots and has some.
func TestDrainWhileAnExecutorHoldsSlots(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(func(c *Config) { c.Memory, c.ApplicationLease = 100, time.Hour }) // its end would free the slot
	// The executor wants all slots.
	a := api.Application{ID: "app", Incarnation: 1, Template: api.Template{Argv: []string{"sleep", "1000"}, Memory: 60}}
	order := &wire.Order{Frontend: "f", Address: "f:1", Tenure: 1, Sequence: 1, Application: a, Executors: []string{"1"}}
	if r, err := n.peer.OrderExecutors(t.Context(), order); err != nil || !r.Accepted {
		t.Fatalf("%+v, %v", r, err)
	}
	n.until("it waits for slots", func(o *owner) bool { return slices.Contains(o.workers.Serves(), "app/1") })
	it := w.launch(0, 0, attemptOf(1, 0), api.Payload{})
	it.Msg.App = "app/1"
	n.deliver(it)
	n.until("it has one", func(o *owner) bool { return started(o) == 1 })
	if _, err := n.peer.Drain(t.Context(), wire.DrainOrder{}); err != nil {
		t.Fatal(err)
	}
	n.until("the node is drained", func(o *owner) bool { _, drained := o.workers.Draining(); return drained })
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	defer http.DefaultClient.CloseIdleConnections()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRuntimesSetting(t *testing.T) {
	for entry, want := range map[string]string{"spark=/opt/spark": "", "spark": "NAME=HOME", "=/opt": "NAME=HOME", "spark=opt": "full path"} {
		c := Default()
		c.Runtimes = []string{entry}
		err := c.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "runtimes") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", entry, err, want)
		}
	}
}
