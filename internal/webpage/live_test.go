package webpage_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/chromiumtest"
	"github.com/pigeon-sched/pigeon/internal/cluster"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var update = flag.Bool("update", false, "write docs/page.png")

// A frontend serves the page of its cluster: a running job is shown in the slots, its waiting
// tasks are explained, and its output is followed to the end.
func TestPageOfALiveCluster(t *testing.T) {
	t.Parallel()
	c, err := cluster.Start(t.Context(), cluster.Spec{Groups: []int{2, 2}, Slots: 4, Frontends: 1, Reserved: 0.25, HTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	pool, err := client.New(client.Options{Name: "frontend", Address: c.Frontends()[0], CallTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	frontend := wire.NewSchedulerClient(pool)
	submit := func(key, name, owner, class string, tasks int, script string) {
		r := &api.Request{Key: key, Name: name, Owner: owner, Backend: api.BackendExec, Class: class, Tasks: make([]api.Task, tasks)}
		for i := range r.Tasks {
			r.Tasks[i].Payload = api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", script}}}
		}
		if _, _, err := frontend.Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	gate := t.TempDir() + "/gate"
	submit("training", "train model", "research/alice", "long", 20, "while ! [ -e "+gate+" ]; do sleep 0.2; done")
	submit("report", hostile, "web", "short", 2, "echo begins; while ! [ -e "+gate+" ]; do sleep 0.2; done; echo ends")
	b := chromiumtest.Open(t, "http://"+c.Web()[0]+"/", 1280, 1000)
	b.Await(live+` && document.querySelector("#slots").dataset.cells === "16" && document.querySelector("#slots").dataset.busy >= "14"`, whole)
	b.Await(`document.querySelector(".queue.long").textContent.includes("the idle workers are reserved for short tasks") && document.querySelector("#job-list").textContent.includes("<img src=x")`, whole)
	b.Click("input[value=owner]")
	b.Await(`document.querySelector("#legend").textContent.includes("research/alice")`, whole)
	if *update {
		picture := b.Screenshot()
		if err := os.WriteFile("../../docs/page.png", picture, 0o644); err != nil || len(picture) > 200_000 {
			t.Fatalf("%d bytes, %v", len(picture), err)
		}
	}
	b.Click("#job-list [data-key='frontend-0/training']")
	b.Await(`document.querySelector("#why .why")?.textContent.includes("wait")`, whole)
	if got := text(b, "#panel"); !strings.Contains(got, "training (train model)") || !strings.Contains(got, "It runs for research/alice.") {
		t.Errorf("the panel shows %q", got)
	}
	b.Click("#panel-close")
	b.Await(`!document.getElementById("panel").open`, whole)
	b.Click("#job-list [data-key='frontend-0/report']")
	b.Await(`document.querySelector("#why p button")`, whole)
	b.Click("#why p button")
	b.Await(`document.querySelector("#log pre").textContent === "begins\n"`, whole)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.Await(`document.querySelector("#log pre").textContent === "begins\nends\n" && document.querySelector("#log h3").textContent.includes("ended")`, whole)
	b.Await(`document.querySelector("#job-list [data-key='frontend-0/training']").textContent.includes("completed")`, whole)
	if got := b.Text(`window.broken + " " + document.querySelectorAll("img").length`); got != "undefined 0" {
		t.Errorf("a name became markup: %s", got)
	}
}
