package pagetest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// The list of jobs has the day of those that were not submitted today, no title of a column is cut off,
// and the titles are above their columns although the list has a scroll bar.
func TestListOfJobs(t *testing.T) {
	t.Parallel()
	m, earlier := small(), time.Now().AddDate(0, 0, -3)
	for i := range 100 {
		m.jobs = append(m.jobs, api.Status{Job: "job-" + strconv.Itoa(100+i), State: api.StateCompleted, Class: "short", Tasks: 1, Submitted: float64(earlier.Unix() - int64(i))})
	}
	b := chromiumtest.Open(t, served(t, m), 1280, 1000)
	b.Await(live+` && document.querySelector("#job-list [role=grid]").getAttribute("aria-rowcount") === "107"`, whole)
	day := strconv.Itoa(earlier.Day())
	if got := text(b, "#job-list [data-index='0'] > :last-child"); !strings.HasPrefix(got, day+" ") {
		t.Errorf("a job of three days ago was submitted at %q, want the day %s", got, day)
	}
	if got := b.Text(`[...document.querySelectorAll("#job-list [role=columnheader]")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent).join()`); got != "" {
		t.Errorf("the titles %s are cut off", got)
	}
	if got := b.Text(`document.querySelector("#job-list .window").offsetWidth - document.querySelector("#job-list .window").clientWidth`); got == "0" {
		t.Error("the list has no scroll bar")
	}
	if got := b.Text(`[...document.querySelectorAll("#job-list [role=columnheader]")].map((e, i) => Math.abs(e.getBoundingClientRect().left - document.querySelectorAll("#job-list [data-index='0'] > *")[i].getBoundingClientRect().left)).join()`); got != "0,0,0,0,0,0,0,0" {
		t.Errorf("titles are beside their columns by %s px", got)
	}
}

// Who has scrolled down the list of jobs sees the same jobs in the same places when newer ones come.
func TestListOfJobsStaysInPlace(t *testing.T) {
	t.Parallel()
	m := small()
	for i := range 100 {
		m.jobs = append(m.jobs, api.Status{Job: "job-" + strconv.Itoa(100+i), State: api.StateCompleted, Class: "short", Tasks: 1, Submitted: float64(1e9 - i)})
	}
	b := chromiumtest.Open(t, served(t, m), 1280, 1000)
	rows := func(n string) {
		b.Await(live+` && document.querySelector("#job-list [role=grid]").getAttribute("aria-rowcount") === "`+n+`"`, whole)
	}
	const place = `(() => {
		const row = document.querySelector("#job-list [data-key='f-0/job-130']"), list = document.querySelector("#job-list .window");
		return row && row.getBoundingClientRect().top - list.getBoundingClientRect().top;
	})()`
	rows("107")
	b.Text(`document.querySelector("#job-list .window").scrollTop = 1000`)
	b.Await(place+` !== null`, whole)
	before := b.Text(place)
	m.mu.Lock()
	for i := range 3 {
		m.jobs = append([]api.Status{{Job: "new-" + strconv.Itoa(i), State: api.StateQueued, Class: "short", Tasks: 1, Submitted: float64(time.Now().Unix() + int64(i))}}, m.jobs...)
	}
	m.mu.Unlock()
	rows("110")
	if after := b.Text(place); after != before {
		t.Errorf("job-130 moved from %s px to %s px below the top of the list", before, after)
	}
	// Who is at the top sees the newest job.
	b.Text(`document.querySelector("#job-list .window").scrollTop = 0`)
	b.Await(`document.querySelector("#job-list [data-key='f-0/new-2']")?.dataset.index === "0"`, whole)
}

// A click opens the row that is shown where it is, also when other rows have come that are not drawn yet.
func TestListOpensTheRowThatIsShown(t *testing.T) {
	t.Parallel()
	b := chromiumtest.Open(t, served(t, small())+"page/style.css", 400, 300)
	b.Text(`import("/page/list.js").then(m => {
		const host = document.createElement("div");
		host.id = "rows";
		document.documentElement.append(host);
		window.list = new m.List(host, { label: "Rows", empty: "none", columns: [{ title: "Row", cell: r => r.key }], open: r => { window.opened = r.key; } });
		list.set([{ key: "a" }]);
	})`)
	b.Await(`document.querySelector("#rows [data-key=a]")`, `document.documentElement.outerHTML`)
	b.Text(`list.set([{ key: "b" }, { key: "a" }]); document.querySelector("#rows [data-key=a]").click()`)
	if got := b.Text(`opened`); got != "a" {
		t.Errorf("a click on a opened %s", got)
	}
}
