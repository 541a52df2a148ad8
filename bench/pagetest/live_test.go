package pagetest

import (
	"bufio"
	"context"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var update = flag.Bool("update", false, "write docs/page.png")

// losesNoNode configures masters that wait for nodes on a busy machine: a task whose node is lost
// may wait in another group.
func losesNoNode(config any) {
	if c, ok := config.(*master.Config); ok {
		c.LostAfter = time.Minute
	}
}

// A frontend serves the page of its cluster: a running job is shown in the slots, its waiting
// tasks are explained, and its output is followed to the end.
func TestPageOfALiveCluster(t *testing.T) {
	t.Parallel()
	c, err := cluster.Start(t.Context(), cluster.Spec{Groups: []int{2, 2}, Slots: 4, Frontends: 1, Reserved: 0.25, HTTP: true, Configure: losesNoNode})
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
	if got := text(b, "#panel"); !strings.Contains(got, "train model (training)") || !strings.Contains(got, "It runs for research/alice.") || strings.Contains(got, "null") {
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

// Each frontend's page shows the jobs of all frontends: those of others by name and state, with a
// link to the page that explains them.
func TestPageShowsJobsOfAllFrontends(t *testing.T) {
	t.Parallel()
	c, err := cluster.Start(t.Context(), cluster.Spec{Groups: []int{1}, Slots: 2, Frontends: 2, HTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, key := range []string{"ours", "theirs"} {
		pool, err := client.New(client.Options{Name: "frontend", Address: c.Frontends()[i], CallTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pool.Close() })
		r := &api.Request{Key: key, Name: hostile, Owner: "web", Backend: api.BackendExec, Tasks: make([]api.Task, 1)}
		r.Tasks[0].Payload = api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", "exit 3", "secret"}}}
		if _, _, err := wire.NewSchedulerClient(pool).Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	b := chromiumtest.Open(t, "http://"+c.Web()[0]+"/", 1280, 1000)
	const theirs = "#job-list [data-key='frontend-1/theirs']"
	b.Await(live+` && document.querySelector("`+theirs+`")?.textContent.includes("failed") && document.querySelector("#job-list [data-key='frontend-0/ours']")?.textContent.includes("failed")`, whole)
	b.Click(theirs)
	b.Await(`document.getElementById("elsewhere")`, whole)
	if got := text(b, "#panel"); !strings.Contains(got, "(theirs)") || !strings.Contains(got, "Frontend frontend-1 has this job") || !strings.Contains(got, "pigeon explain theirs") || strings.Contains(got, "secret") || strings.Contains(got, "exit") {
		t.Errorf("the panel shows %q", got)
	}
	if got := b.Text(`document.getElementById("elsewhere").href`); got != "http://"+c.Web()[1]+"/#job=theirs" {
		t.Errorf("the link leads to %s", got)
	}
	b.Click("#elsewhere")
	b.Await(`location.host === "`+c.Web()[1]+`" && document.querySelector("#why li")?.textContent.includes("It failed: 1 of 1 task failed")`, whole)
	if got := b.Text(`window.broken + " " + document.querySelectorAll("img").length`); got != "undefined 0" {
		t.Errorf("a name became markup: %s", got)
	}
}

// Where daemons prove who they are, a frontend is shown the names and states of others' jobs as
// what it is: a frontend.
func TestPageOfASecuredClusterShowsJobsOfAllFrontends(t *testing.T) {
	t.Parallel()
	c, err := cluster.Start(t.Context(), cluster.Spec{Groups: []int{1}, Slots: 2, Frontends: 2, HTTP: true, TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	security, err := c.Security()
	if err != nil {
		t.Fatal(err)
	}
	pool, err := client.New(client.Options{Name: "frontend", Address: c.Frontends()[1], CallTimeout: time.Minute, Security: security})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	r := &api.Request{Key: "theirs", Backend: api.BackendExec, Tasks: make([]api.Task, 1)}
	r.Tasks[0].Payload = api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"true", "secret"}}}
	if _, _, err := wire.NewSchedulerClient(pool).Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Web()[0]+"/page/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(q) // the kernel says who calls
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	in := bufio.NewReader(answer.Body)
	for text := ""; !strings.Contains(text, `"key":"frontend-1/theirs"`); {
		if text, err = in.ReadString('\n'); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", answer.Status, text, err)
		}
		if strings.Contains(text, "secret") {
			t.Errorf("a command is shown: %s", text)
		}
	}
}
