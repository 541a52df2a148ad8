package pagetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// openRunning opens the panel of a running job, which is explained again every 2 s, in a narrow window.
func openRunning(t *testing.T) *chromiumtest.Tab {
	t.Helper()
	b := chromiumtest.Open(t, served(t, small()), 360, 500)
	b.Await(live+` && `+rowsNow+` === 6`, whole)
	b.Click("#job-list [data-index='1']")
	b.Await(`document.querySelectorAll("#why tbody tr").length === 3`, whole)
	return b
}

// awaitRedrawn waits until a table has been drawn again.
func awaitRedrawn(b *chromiumtest.Tab, table string) {
	b.Text(fmt.Sprintf(`document.querySelector(%q).old = true`, table))
	b.Await(fmt.Sprintf(`document.querySelector(%q) && !document.querySelector(%[1]q).old`, table), whole)
}

// Who reads the panel of a running job stays where it is when the job is explained again, and text that
// is selected stays selected.
func TestPanelKeepsThePlaceOfItsReader(t *testing.T) {
	t.Parallel()
	b := openRunning(t)
	b.Text(`document.querySelector("#why tbody button").focus();
		document.querySelector("#why tbody button").click();
		document.querySelector("#why .scroll").scrollLeft = 40`)
	b.Await(`document.querySelector("#log pre[data-stream=stdout]").textContent`, whole)
	const place = `[document.getElementById("panel").scrollTop - down, document.querySelector("#why .scroll").scrollLeft, document.activeElement.dataset.task].join()`
	b.Text(`document.getElementById("panel").scrollTop = 1e9; window.down = document.getElementById("panel").scrollTop`)
	awaitRedrawn(b, "#why table")
	if got := b.Text(place); got != "0,40,0/1" {
		t.Errorf("moved down by, scrolled across to, the button in focus: %s, want 0,40,0/1", got)
	}
	b.Text(`getSelection().selectAllChildren(document.querySelector("#why li"));
		window.explained = () => performance.getEntriesByType("resource").filter(e => e.name.includes("/explain")).length;
		window.seen = explained()`)
	b.Await(`explained() > seen + 1`, `explained()`)
	if got := b.Text(`getSelection().toString()`); got != "Group 0: 3 of its tasks wait; no worker is idle." {
		t.Errorf("%q is selected, want the whole first line", got)
	}
	b.Text(`getSelection().removeAllRanges()`)
	awaitRedrawn(b, "#why table")
}

// Only a job of which tasks wait is told why it waits.
func TestPanelHeading(t *testing.T) {
	t.Parallel()
	m := small()
	m.jobs = []api.Status{
		{Job: "waits", State: api.StateQueued, Tasks: 8}, {Job: "partly", State: api.StateRunning, Tasks: 8, Running: 3, Completed: 2, Failed: 1},
		{Job: "runs", State: api.StateRunning, Tasks: 8, Running: 3, Completed: 4, Failed: 1}, {Job: "ended", State: api.StateCompleted, Tasks: 8, Completed: 8, Ended: 2},
	}
	b := chromiumtest.Open(t, served(t, m), 1280, 1000)
	b.Await(live+` && `+rowsNow+` === 4`, whole)
	for job, want := range map[string]string{"waits": "Why it waits", "partly": "Why it waits", "runs": "Where it stands", "ended": "How it ended"} {
		b.Click("#job-list [data-key='f-0/" + job + "']")
		b.Await(`document.querySelector("#why h3")`, whole)
		if got := text(b, "#why h3"); got != want {
			t.Errorf("the explanation of the job %q has the title %q, want %q", job, got, want)
		}
		b.Text(`document.getElementById("panel").close(); 0`)
	}
}

// The output that a button shows can be seen, however far below the button it is.
func TestPanelLeadsToTheOutput(t *testing.T) {
	t.Parallel()
	b := openRunning(t)
	b.Text(`document.getElementById("panel").scrollTop = 0`)
	b.Click("#why tbody button")
	b.Await(`document.querySelector("#log pre[data-stream=stdout]").textContent`, whole)
	if got := b.Text(`document.querySelector("#log h3").getBoundingClientRect().bottom <= document.getElementById("panel").getBoundingClientRect().bottom`); got != "true" {
		t.Errorf("the title of the output is below what can be seen: %s", b.Text(`JSON.stringify([document.querySelector("#log h3").getBoundingClientRect(), document.getElementById("panel").getBoundingClientRect()])`))
	}
}

// The table of shares stays scrolled across when it is drawn again.
func TestSharesStayScrolledAcross(t *testing.T) {
	t.Parallel()
	b := chromiumtest.Open(t, served(t, small()), 360, 500)
	b.Await(live, whole)
	b.Text(scrollToShares)
	b.Await(`document.querySelector("#shares table")`, whole)
	b.Text(`document.querySelector("#shares .scroll").scrollLeft = 40`)
	awaitRedrawn(b, "#shares table")
	if got := b.Text(`document.querySelector("#shares .scroll").scrollLeft`); got != "40" {
		t.Errorf("scrolled across to %s, want 40", got)
	}
}

// wordy explains jobs with long reasons.
type wordy struct{ *made }

func (w wordy) Explain(ctx context.Context, name string) (*api.Explanation, error) {
	e, err := w.made.Explain(ctx, name)
	for i := range e.Tasks {
		e.Tasks[i].Reason = strings.Repeat("it exited with status 3 while running a program on a node; ", 5)
	}
	return e, err
}

// A long reason leaves the other cells of the table in one line each, in a wide window and in a narrow one.
func TestPanelBreaksNoWordsOfAttempts(t *testing.T) {
	t.Parallel()
	b := chromiumtest.Open(t, served(t, wordy{small()}), 1280, 900)
	b.Await(live+` && `+rowsNow+` === 6`, whole)
	b.Click("#job-list [data-index='2']")
	b.Await(`document.querySelectorAll("#why tbody tr").length === 3`, whole)
	for _, width := range []int64{1280, 360} {
		b.Do(chromedp.EmulateViewport(width, 900))
		b.Await(fmt.Sprintf(`innerWidth === %d`, width), `innerWidth`)
		broken := b.Text(`[...document.querySelectorAll("#why tbody td:not(.node, .reason, .when)")].map(cell => {
			const text = document.createRange();
			text.selectNodeContents(cell.querySelector("button") || cell);
			return text.getClientRects().length > 1 ? cell.textContent : "";
		}).filter(t => t).join()`)
		if broken != "" {
			t.Errorf("%d px wide: %s are in several lines", width, broken)
		}
	}
}

// The job that the address names is opened, also when the address changes while the page is shown.
func TestPageOpensTheJobOfItsAddress(t *testing.T) {
	t.Parallel()
	b := chromiumtest.Open(t, served(t, small())+"#job=job-3", 1280, 900)
	for _, job := range []string{"job-3", "job-2"} {
		b.Text(fmt.Sprintf(`location.hash = "job=%s"`, job))
		b.Await(fmt.Sprintf(`document.getElementById("panel").open && document.getElementById("panel-title").textContent === "nightly build (%s)" && document.querySelectorAll("#why li").length === 2`, job), whole)
		b.Text(`document.getElementById("panel").close()`)
	}
}

// The panel of a running job and the output that is followed in it ask nothing while the tab is hidden.
func TestPanelAsksNothingWhileHidden(t *testing.T) {
	t.Parallel()
	b := openRunning(t)
	b.Text(`{
		const ask = fetch, wait = setTimeout;
		window.asked = 0;
		window.fetch = (url, options) => { asked++; return ask(url, options); };
		window.setTimeout = f => wait(f, 0); // all pauses are short
		window.pauses = n => n ? setTimeout(() => pauses(n - 1)) : (window.over = true);
		window.show = state => {
			Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
			document.dispatchEvent(new Event("visibilitychange"));
		};
	}`)
	b.Await(`asked > 5`, `asked`) // it is explained again and again
	b.Text(`show("hidden"); asked = 0; pauses(100)`)
	b.Await(`window.over`, `asked`)
	if got := b.Text(`asked`); got != "0" {
		t.Errorf("a hidden tab asked %s times", got)
	}
	b.Text(`show("visible")`)
	b.Await(`asked > 1`, `asked`)
}

// The shares of owners that are in view are read on after the tab was hidden for a while.
func TestSharesAreReadAgainAfterTheTabWasHidden(t *testing.T) {
	t.Parallel()
	b := chromiumtest.Open(t, served(t, small()), 1280, 1000)
	b.Await(live, whole)
	b.Text(`{
		const ask = fetch, wait = setTimeout;
		window.asked = 0;
		window.fetch = (url, options) => { asked += String(url).includes("page/shares"); return ask(url, options); };
		window.setTimeout = f => wait(f, 0); // all pauses are short
		window.pauses = n => n ? setTimeout(() => pauses(n - 1)) : (window.over = true);
		window.show = state => {
			Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
			document.dispatchEvent(new Event("visibilitychange"));
		};
	}`)
	b.Text(scrollToShares)
	b.Await(`asked > 1`, `asked`)
	b.Text(`show("hidden"); pauses(100)`)
	b.Await(`window.over`, `asked`)
	b.Text(`asked = 0; show("visible")`)
	b.Await(`asked > 1`, `asked`)
}
