package pagetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/internal/webpage"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// hostile is a name whose markup must have no effect.
const hostile = `<img src=x onerror="window.broken=1"><script>window.broken=1</script>`

// made is a cluster that is made up, of some size.
type made struct {
	groups, nodes, slots int // nodes of a group, slots of a node
	others               int // frontends beside f-0 and f-1 that have the same jobs
	jobs                 []api.Status
	log                  string
	inSlots              string // the job in all slots

	mu   sync.Mutex
	turn int // counts the reads: what is in the slots changes with each
}

var owners = []string{"research/alice", "research/bob", "web", hostile}

func (m *made) Nodes(context.Context) ([]api.MasterState, error) {
	m.mu.Lock()
	m.turn++
	turn := m.turn
	m.mu.Unlock()
	var list []api.MasterState
	for g := range m.groups {
		s := api.MasterState{
			Group: g, Epoch: 7, QueuedShort: 3, OldestShort: 1.5, QueuedLong: 2, OldestLong: 90, IdleReserved: 1, Workers: m.nodes * m.slots, Launches: 1234, Lost: 1,
			Master:    &api.DaemonState{Name: fmt.Sprint(g), Address: "127.0.0.1:7", State: api.StateUp, Version: "1.2.3"},
			Frontends: []api.DaemonState{{Name: "f-0", Address: "127.0.0.1:8", State: api.StateUp}, {Name: "f-1", Address: "127.0.0.1:9", State: api.StateLost, Reason: "it was silent"}},
			Departed:  []api.Node{{ID: fmt.Sprintf("gone-%d", g), Group: g, State: api.StateLost, StateSeconds: 75, Reason: "no heartbeat " + hostile}},
		}
		for k := range m.others {
			s.Frontends = append(s.Frontends, api.DaemonState{Name: fmt.Sprintf("other-%d", k), State: api.StateUp, Scheduler: "127.0.0.1:1"})
		}
		for k := range m.nodes {
			n := api.Node{ID: fmt.Sprintf("node-%d-%03d", g, k), Group: g, Address: "10.0.0.1:1", Slots: m.slots, Up: true, State: api.StateUp, StateSeconds: 60, Owners: owners, Apps: []string{}}
			var use []byte
			for i := range m.slots {
				what := []byte{api.ShortSlot, api.LongSlot, api.IdleSlot, api.BusySlot}[(turn+k+i)%4]
				owner := -1
				if what != api.IdleSlot {
					owner = (k + i) % len(owners)
					n.Busy++
				}
				use = api.AppendSlotUse(use, what, i == 0, owner)
			}
			n.SlotUse = string(use)
			if m.inSlots != "" {
				n.SlotJobs = slices.Repeat([]string{m.inSlots}, m.slots)
			}
			s.BusyGeneral += n.Busy
			s.Nodes = append(s.Nodes, n)
		}
		list = append(list, s)
	}
	list[0].Nodes[0].Up, list[0].Nodes[0].State, list[0].Nodes[0].Reason = false, api.StateUnreachable, "connection refused"
	return list, nil
}

func (m *made) List(_ context.Context, limit int, after string) ([]api.Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	from := 0
	for i := range m.jobs {
		if after != "" && m.jobs[i].Job == after {
			from = i + 1
		}
	}
	list := append([]api.Status(nil), m.jobs[from:min(len(m.jobs), from+limit)]...)
	for i := range list {
		if list[i].State == api.StateRunning {
			list[i].Running = 1 + m.turn%4
		}
	}
	return list, nil
}

func (m *made) Status(_ context.Context, name string) (api.Status, error) {
	for _, j := range m.jobs {
		if j.Job == name {
			return j, nil
		}
	}
	return api.Status{}, &api.Error{Problem: api.NotFound, What: "no such job", Subject: name}
}

func (m *made) Explain(ctx context.Context, name string) (*api.Explanation, error) {
	s, err := m.Status(ctx, name)
	return &api.Explanation{Status: s, Why: []string{"Group 0: 3 of its tasks wait; no worker is idle.", hostile}, Tasks: []api.TaskStatus{
		{Task: 0, Attempt: 1, State: "retried", Node: "node-0-001", Started: s.Submitted + 2.5, Seconds: 1.25, Reason: "exit 3 " + hostile, Exit: 3},
		{Task: 0, Attempt: 2, State: "running", Node: "node-0-002/1"},
	}, Completed: []api.TaskStatus{{Task: 1, Attempt: 1, State: "completed", Node: "node-0-001", Started: s.Submitted + 5, Seconds: 7.5}}}, err
}

func (m *made) TaskLog(_ context.Context, r wire.LogRequest) (wire.LogChunk, error) {
	text := m.log[min(int64(len(m.log)), r.Offset):]
	return wire.LogChunk{Data: []byte(text), Size: int64(len(m.log)), Ended: true}, nil
}

func (m *made) Shares(context.Context) (api.OwnerShares, error) {
	return api.OwnerShares{Groups: []api.GroupOwners{{Group: 0, Reachable: true, Fair: true, Slots: 8, Owners: []api.OwnerShare{
		{Weight: 1, Entitled: 8}, {Owner: "research", Weight: 2, Entitled: 5.3, RunningLong: 3, QueuedShort: 3, UsedLong: 71.2}, {Owner: hostile, Weight: 1, Entitled: 2.7},
	}}}}, nil
}

// small returns a cluster of 4 nodes and 6 jobs.
func small() *made {
	m := &made{groups: 2, nodes: 2, slots: 4, log: "hello " + hostile + "\n"}
	begin := float64(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Unix())
	for i, state := range []api.State{api.StateQueued, api.StateRunning, api.StateCompleted, api.StateFailed, api.StateCancelled, api.StateRunning} {
		j := api.Status{Job: fmt.Sprintf("job-%d", i), State: state, Class: []string{"short", "long"}[i%2], Tasks: 8, Completed: i, Submitted: begin - float64(i), Owner: owners[i%3], Name: "nightly build", Command: "make -j8 all", Submitter: "alice"}
		if state.Ended() {
			j.Ended, j.Seconds = begin+1, 12.5
		}
		m.jobs = append(m.jobs, j)
	}
	m.jobs[5].Name = hostile
	return m
}

// served serves the page as daemons do, and returns its address.
func served(t testing.TB, source webpage.Source) string {
	t.Helper()
	return servedWith(t, source, nil)
}

// servedWith is served by a frontend that reaches others.
func servedWith(t testing.TB, source webpage.Source, dial webpage.Dial) string {
	t.Helper()
	return servedAs(t, webpage.Place{Name: "f-0", Source: source}, dial)
}

// servedPlace is served by a frontend with two applications.
func servedPlace(t testing.TB, source webpage.Source) string {
	t.Helper()
	return servedAs(t, webpage.Place{Name: "f-0", Source: source, Applications: func(context.Context) (any, error) {
		return []map[string]any{
			{"application": "app-1", "name": hostile, "owner": "team/alice", "running": 3, "slot_seconds": map[string]float64{"team/alice": 1234.5}, "state": "running", "page": "http://driver:4040"},
			{"application": "app-2", "state": "running", "page": "javascript:broken=1"},
		}, nil
	}}, nil)
}

func servedAs(t testing.TB, place webpage.Place, dial webpage.Dial) string {
	t.Helper()
	callers, err := credentials.Open(credentials.Options{LocalRole: identity.User, Log: daemontest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	s := telemetry.NewServer(telemetry.ServerOptions{Security: telemetry.Security{Identifier: callers, Allow: access.MaySeePage}})
	p := webpage.NewOfFrontend(place, dial)
	s.OnStop(p.Close)
	for _, pattern := range p.Patterns() {
		s.Handle(pattern, p)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	t.Cleanup(s.Stop)
	return s.URL() + "/"
}

const (
	live           = `document.getElementById("fresh").textContent === "live"`
	whole          = `document.body.innerText`
	scrollToShares = `document.getElementById("shares").scrollIntoView(); 0` // they are read while they can be seen
	rowsNow        = `[...document.querySelectorAll("#job-list .row")].filter(r => r.style.display !== "none").length`
)

// text returns what an element shows.
func text(b *chromiumtest.Tab, selector string) string {
	return b.Text(fmt.Sprintf("document.querySelector(%q).textContent", selector))
}

// Every element of the page shows its content; no name of the cluster becomes markup.
func TestPageInChromium(t *testing.T) {
	t.Parallel()
	b := chromiumtest.Open(t, served(t, small()), 1280, 1000)
	b.Await(live+` && `+rowsNow+` === 6 && document.querySelector("#slots").dataset.cells === "16"`, whole)
	b.Text(scrollToShares)
	b.Await(`document.querySelector("#shares table")`, whole)
	for selector, want := range map[string]string{
		"#totals":                               "4 nodes, 16 workers",
		"#you":                                  "You are ",
		"#groups article":                       "3 short tasks wait",
		"#groups .queue.short":                  "the oldest for 1.50 s: workers are idle",
		"#groups .queue.long":                   "the oldest for 90.0 s: the idle workers are reserved for short tasks",
		"#away":                                 "node-0-000, group 0: unreachable for",
		"#away li[data-node='gone-1']":          "no heartbeat <img src=x",
		"#daemons":                              "Master of group 0 at 127.0.0.1:7: leads, epoch 7, version 1.2.3",
		"#daemons li:nth-child(4)":              "f-1 at 127.0.0.1:9: lost: it was silent",
		"#legend":                               "long task",
		"#shares [data-owner=research]":         "research25.3",
		"#job-count":                            "6 jobs",
		"#job-list [data-index='5']":            hostile,
		"#job-list [data-index='3']":            "failed",
		"#job-list .row:nth-of-type(3)":         "job-1",
		"#job-list [role=columnheader]":         "Job",
		"#h-slots":                              "Slots",
		"#job-list [data-index='2'] .completed": "completed",
	} {
		if got := text(b, selector); !strings.Contains(got, want) {
			t.Errorf("%s shows %q, want %q", selector, got, want)
		}
	}
	if label := b.Text(`document.querySelector("#slots").getAttribute("aria-label")`); !strings.HasPrefix(label, "16 slots of 4 nodes, ") {
		t.Errorf("the label of the map is %q", label)
	}
	checkToolbars(t, b)
	checkBars(t, b)
	// By owner, the legend names the owners.
	b.Click("input[value=owner]")
	b.Await(`document.querySelector("#legend").textContent.includes("research/alice")`, whole)
	// The list of nodes, filtered.
	b.Click("#nodes-text summary")
	b.Await(`document.querySelectorAll("#nodes [data-index]").length >= 4`, whole)
	b.Do(chromedp.SendKeys(chromedp.CSS("#node-filter"), "node-1-001"))
	b.Await(`document.querySelector("#nodes [role=grid]").getAttribute("aria-rowcount") === "2"`, whole)
	if got := text(b, "#nodes [data-index='0']"); !strings.Contains(got, "node-1-001") || !strings.Contains(got, " of ") {
		t.Errorf("the list of nodes shows %q", got)
	}
	// Jobs, filtered by text and by state.
	b.Do(chromedp.SendKeys(chromedp.CSS("#job-filter"), "NIGHTLY"))
	b.Await(rowsNow+` === 5`, whole)
	b.Do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := chromedp.Evaluate[any](`{ const s = document.getElementById("job-state"); s.value = "failed"; s.dispatchEvent(new Event("change")); }`)(ctx, tab)
		return err
	}))
	b.Await(rowsNow+` === 1 && document.querySelector("#job-count").textContent === "1 of 6 jobs"`, whole)
	checkStates(t, b)
	// A click explains a job, and its attempts' output is read.
	b.Click("#job-list [data-index='0']")
	b.Await(`document.querySelectorAll("#why li").length === 2 && document.querySelectorAll("#why tbody tr").length === 3`, whole)
	checkChart(t, b)
	if got := text(b, "#panel"); !strings.Contains(got, "nightly build (job-3)") || !strings.Contains(got, "exit 3 <img") {
		t.Errorf("the panel shows %q", got)
	}
	b.Click("#why tbody button")
	b.Await(`document.querySelector("#log pre[data-stream=stdout]").textContent.startsWith("hello <img") && document.querySelector("#log h3").textContent.includes("ended")`, whole)
	// A job that is opened before the browser has reported the closing of the panel is explained.
	b.Text(`document.getElementById("panel").close(); document.querySelector("#job-list [data-index='0']").click(); 0`)
	b.Await(`document.querySelectorAll("#why li").length === 2 && document.getElementById("panel").open`, whole)
	checkAsksAgain(t, b)
	if got := b.Text(`window.broken + " " + document.querySelectorAll("img").length + " " + document.querySelectorAll("body script").length`); got != "undefined 0 0" {
		t.Errorf("a name became markup: %s", got)
	}
	if got := b.Text(`performance.getEntriesByType("resource").filter(e => !e.name.startsWith(location.origin)).length`); got != "0" {
		t.Errorf("%s resources come from elsewhere", got)
	}
}

// checkAsksAgain checks that a job is explained although its frontend did not answer once.
func checkAsksAgain(t *testing.T, b *chromiumtest.Tab) {
	t.Helper()
	b.Text(`{
		const real = window.fetch;
		window.asked = 0;
		window.network = () => window.fetch = real;
		window.fetch = (url, options) => {
			if (!String(url).includes("explain")) return real(url, options);
			asked++;
			return Promise.reject(new Error("the test has no network"));
		};
		document.getElementById("panel").close();
		document.querySelector("#job-list [data-index='0']").click();
	} 0`)
	b.Await(`document.querySelector("#why [role=alert]")?.textContent === "the test has no network"`, whole)
	// A screen reader reads an alert out whenever it is drawn.
	b.Text(`document.querySelector("#why [role=alert]").first = true; asked = 0`)
	b.Await(`asked > 1`, whole)
	if got := b.Text(`document.querySelector("#why [role=alert]").first`); got != "true" {
		t.Error("the same error was drawn again")
	}
	b.Text(`network(); 0`)
	b.Await(`document.querySelectorAll("#why li").length === 2`, whole)
}

// checkToolbars checks that nothing above the map and above the list of jobs is cut off: each control is
// as high as a line of text at least, and all of it is within what its toolbar shows.
func checkToolbars(t *testing.T, b *chromiumtest.Tab) {
	t.Helper()
	cut := b.Text(`[...document.querySelectorAll(".bar input, .bar select, #legend, #job-count")].map(e => {
		const own = e.getBoundingClientRect(), all = e.closest(".bar").getBoundingClientRect();
		const shown = Math.min(own.bottom, all.bottom) - Math.max(own.top, all.top), least = e.type === "radio" ? 10 : 16;
		return shown < Math.max(least, own.height - 1) ? (e.id || e.value) + ": " + shown + " of " + own.height + " px" : "";
	}).filter(x => x).join("; ")`)
	if cut != "" {
		t.Errorf("of the toolbars only a part is shown: %s", cut)
	}
	if n := b.Text(`document.querySelectorAll(".bar #job-filter, .bar #job-state, .bar #legend").length`); n != "3" {
		t.Errorf("%s of 3 controls are in a toolbar", n)
	}
}

// checkBars checks that the bar of each job is drawn: all of it is within its cell, and no part of
// the cell's content is cut off.
func checkBars(t *testing.T, b *chromiumtest.Tab) {
	t.Helper()
	cut := b.Text(`[...document.querySelectorAll("#job-list .row")].filter(r => r.style.display !== "none").map(r => {
		const bar = r.querySelector(".progress"), cell = bar.closest("[role=gridcell]"), own = bar.getBoundingClientRect(), all = cell.getBoundingClientRect();
		const within = own.left >= all.left - 1 && own.right <= all.right + 1 && own.top >= all.top - 1 && own.bottom <= all.bottom + 1;
		return within && own.width > 20 && own.height > 2 && cell.scrollWidth <= cell.clientWidth ? "" : JSON.stringify([own, all]);
	}).filter(x => x).join("; ")`)
	if cut != "" {
		t.Errorf("bars of jobs are not shown in their cells: %s", cut)
	}
}

// checkStates checks that jobs can be filtered by each state that one has.
func checkStates(t *testing.T, b *chromiumtest.Tab) {
	t.Helper()
	want := fmt.Sprint(api.States())
	if got := b.Text(`"[" + [...document.querySelectorAll("#job-state option")].map(o => o.value).filter(v => v).join(" ") + "]"`); got != want {
		t.Errorf("jobs can be filtered by the states %s, want %s", got, want)
	}
}

// checkChart checks the bars of the attempts of job-3, which took 12.5 s.
func checkChart(t *testing.T, b *chromiumtest.Tab) {
	t.Helper()
	if got := text(b, "#why thead"); !strings.Contains(got, "When, in 12.5 s") {
		t.Errorf("the head of the table is %q", got)
	}
	labels := b.Text(`[...document.querySelectorAll("#why .timeline")].map(e => e.getAttribute("aria-label")).join("; ")`)
	if labels != "from 2.50 s to 3.75 s after the submission; from 5.00 s to 12.5 s after the submission" {
		t.Errorf("the bars are labelled %q", labels)
	}
	parts := b.Text(`[...document.querySelectorAll("#why .timeline")].map(e => { const all = e.getBoundingClientRect(), bar = e.firstChild.getBoundingClientRect(); return [(bar.left - all.left) / all.width, bar.width / all.width].map(x => Math.round(100 * x)).join("+"); }).join()`)
	if parts != "20+10,40+60" {
		t.Errorf("the bars begin and last for these parts of the scale: %s, want 20+10,40+60", parts)
	}
}

// The keyboard can do everything that the mouse can.
func TestPageByKeyboard(t *testing.T) {
	t.Parallel()
	b := chromiumtest.Open(t, served(t, small()), 1280, 1000)
	b.Await(live+` && `+rowsNow+` === 6 && document.querySelector("#slots").dataset.cells === "16"`, whole)
	// The first stop leads past the map.
	b.Do(chromedp.KeyEvent(kb.Tab))
	b.Await(`document.activeElement.className === "skip"`, whole)
	b.Do(chromedp.KeyEvent(kb.Enter))
	focus := func(selector string) {
		for range 40 {
			if b.Text(fmt.Sprintf("document.activeElement.matches(%q)", selector)) == "true" {
				return
			}
			b.Do(chromedp.KeyEvent(kb.Tab))
		}
		t.Fatalf("%s cannot be reached by Tab; the focus is on %s", selector, b.Text("document.activeElement.outerHTML.slice(0, 200)"))
	}
	focus("#job-list [role=grid]")
	b.Do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	b.Await(`document.querySelector("#job-list .row.active")?.dataset.index === "1" && document.activeElement.getAttribute("aria-activedescendant") === document.querySelector("#job-list .row.active").id`, whole)
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Await(`document.getElementById("panel").open && document.querySelectorAll("#why li").length === 2`, whole)
	focus("#why tbody button")
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Await(`document.querySelector("#log pre")?.textContent.startsWith("hello")`, whole)
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Await(`!document.getElementById("panel").open && document.activeElement.matches("#job-list [role=grid]")`, "document.activeElement.outerHTML.slice(0, 200)")
	b.Text(`document.getElementById("slots").focus()`)
	b.Do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	b.Await(`document.getElementById("chosen").textContent.startsWith("Node node-0-000, group 0, slot 1: ")`, `document.getElementById("chosen").textContent`)
	b.Do(chromedp.KeyEvent(kb.End))
	b.Await(`document.getElementById("chosen").textContent.startsWith("Node node-1-001, group 1, slot 3: ")`, `document.getElementById("chosen").textContent`)
	// A click leaves the focus where it names the active row, and there is one stop of the Tab key for a list.
	b.Text(`document.querySelector("#job-list .window").focus(); 0`) // as a click in it does
	if got := b.Text(`document.activeElement.getAttribute("role") + " " + (document.activeElement.getAttribute("aria-activedescendant") === document.querySelector("#job-list .row.active").id)`); got != "grid true" {
		t.Errorf("the focus is on %s", got)
	}
	b.Do(chromedp.KeyEvent(kb.Tab))
	if got := b.Text(`document.activeElement.closest("#job-list") !== null`); got != "false" {
		t.Error("the list of jobs has a second stop of the Tab key")
	}
	if got := b.Text(`document.querySelectorAll("[role=rowgroup][aria-activedescendant], [role=rowgroup][tabindex='0']").length`); got != "0" {
		t.Errorf("%s groups of rows name an active row, which screen readers ignore there", got)
	}
	// Every control has a name.
	if got := b.Text(`[...document.querySelectorAll("input, select, button, canvas, [tabindex='0']")].filter(e => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim())).map(e => e.outerHTML).join()`); got != "" {
		t.Errorf("controls without a name: %s", got)
	}
}

// prefers sets what the user prefers.
func prefers(features ...*emulation.MediaFeature) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	})
}

// On a narrow screen nothing is wider than the screen; the dark mode is dark and nothing moves for
// a user who prefers that.
func TestPageOnANarrowDarkScreen(t *testing.T) {
	t.Parallel()
	m := small()
	m.jobs[0].Job = strings.Repeat("x", 200)
	b := chromiumtest.Open(t, served(t, m), 360, 740, prefers(&emulation.MediaFeature{Name: "prefers-color-scheme", Value: "dark"}, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"}))
	b.Await(live+` && `+rowsNow+` === 6`, whole)
	b.Text(scrollToShares)
	b.Await(`document.querySelector("#shares table")`, whole)
	wide := `[document.documentElement.scrollWidth, ...[...document.querySelectorAll("header, section, .card, .list, dialog[open]")].map(e => Math.ceil(e.getBoundingClientRect().right))].every(x => x <= 360)`
	if b.Text(wide) != "true" {
		t.Errorf("something is wider than the screen: %s", b.Text(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 361 && !e.closest(".scroll")).map(e => e.outerHTML.slice(0, 120)).join("\n")`))
	}
	b.Click("#job-list [data-index='1']")
	b.Await(`document.querySelectorAll("#why li").length === 2`, whole)
	if b.Text(wide) != "true" {
		t.Error("the panel is wider than the screen")
	}
	if got := b.Text(`getComputedStyle(document.body).backgroundColor`); got != "rgb(17, 21, 27)" {
		t.Errorf("the background is %s", got)
	}
	b.Text(`document.body.append(Object.assign(document.createElement("span"), { className: "progress" })); document.body.lastChild.append(document.createElement("i"))`)
	if got := b.Text(`getComputedStyle(document.querySelector(".progress i")).transitionDuration`); got != "0s" {
		t.Errorf("it moves for %s", got)
	}
}

// 1,000 nodes whose slots all change each second, and 10,000 jobs: all are shown, and few rows are
// elements.
func TestPageUnderLoad(t *testing.T) {
	t.Parallel()
	m := &made{groups: 10, nodes: 100, slots: 8}
	for i := range 10_000 {
		m.jobs = append(m.jobs, api.Status{Job: fmt.Sprintf("job-%05d", 10_000-i), State: []api.State{api.StateRunning, api.StateCompleted}[i%2], Class: "short", Tasks: 4, Submitted: float64(1e9 - i), Owner: owners[i%3], Submitter: "alice"})
	}
	b := chromiumtest.Open(t, served(t, m), 1280, 900)
	b.Text(`window.slow = []; new PerformanceObserver(l => slow.push(...l.getEntries().map(e => Math.round(e.duration)))).observe({ type: "longtask" }); 0`)
	b.Await(live+` && document.querySelector("#slots").dataset.cells === "8000" && document.querySelector("#job-list [role=grid]").getAttribute("aria-rowcount") === "10001"`, whole)
	drawn := b.Text(`document.querySelector("#slots").dataset.drawn`)
	b.Await(fmt.Sprintf(`Number(document.querySelector("#slots").dataset.drawn) > %s + 2`, drawn), whole)
	b.Text(`document.querySelector("#job-list .window").scrollTop = 1e9`)
	b.Await(`[...document.querySelectorAll("#job-list .row")].some(r => r.style.display !== "none" && r.textContent.startsWith("job-00001"))`, whole)
	if got := b.Text(`document.querySelectorAll("#job-list .row").length < 60 && document.querySelectorAll("*").length < 1500`); got != "true" {
		t.Errorf("%s rows and %s elements", b.Text(`document.querySelectorAll("#job-list .row").length`), b.Text(`document.querySelectorAll("*").length`))
	}
	b.Do(chromedp.SendKeys(chromedp.CSS("#job-filter"), "job-04321"))
	b.Await(rowsNow+` === 1`, whole)
	t.Logf("tasks of the page's thread above 50 ms: %s", b.Text(`JSON.stringify(slow)`))
}
