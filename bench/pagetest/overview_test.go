package pagetest

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// gap measures, in a drawing of one group, the widest space between two slots of the first line of slots.
const gap = `(() => {
	const c = document.getElementById("slots"), g = c.getContext("2d"), ratio = devicePixelRatio;
	let widest = 0;
	for (let y = 0; y < c.height && y < 80 * ratio; y++) {
		const line = g.getImageData(0, y, c.width, 1).data;
		let full = 0;
		for (let x = 0; x < c.width; x++) full += line[4 * x + 3] > 0;
		if (full < 150 * ratio) continue; // text, or nothing
		let last = -1;
		for (let x = 0; x < c.width; x++) if (line[4 * x + 3] > 0) {
			if (last >= 0) widest = Math.max(widest, x - last - 1);
			last = x;
		}
	}
	return widest / ratio;
})()`

// Jobs are first, by name before id, with what they run, in a wide window and on a phone; slots are apart by
// node; a chosen slot leads to its job; shares are those of all groups.
func TestPageShowsWhatUsersLookForFirst(t *testing.T) {
	t.Parallel()
	m := small()
	m.groups, m.inSlots, m.jobs[0].Name = 1, "job-1", ""
	b := chromiumtest.Open(t, served(t, m), 1280, 1000)
	b.Await(live+` && `+rowsNow+` === 6 && document.querySelector("#slots").dataset.cells === "8" && document.querySelectorAll("#hour article").length === 3`, whole)
	if got := b.Text(`document.querySelector("main > section").id`); got != "jobs" {
		t.Errorf("the first section is %q, want the jobs", got)
	}
	if got := b.Text(gap + ` >= 6`); got != "true" {
		t.Errorf("the slots of two nodes are %s px apart", b.Text(gap))
	}
	if got := text(b, "#job-list [data-index='1']"); !strings.HasPrefix(got, "nightly buildjob-1make -j8 all") {
		t.Errorf("a row of the jobs is %q, want name, id and command first", got)
	}
	b.Do(chromedp.SendKeys(chromedp.CSS("#job-filter"), "make -j8"))
	b.Await(rowsNow+` === 6`, whole)
	picture(t, b, "wide.png")
	b.Text(`document.getElementById("slots").focus()`)
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	b.Await(`document.querySelector("#chosen a")?.textContent === "nightly build (job-1)"`, whole)
	b.Click("#chosen a")
	b.Await(`document.getElementById("panel").open && document.querySelector("#command")?.textContent === "make -j8 all"`, whole)
	b.Text(`document.getElementById("panel").close(); 0`)
	b.Do(chromedp.EmulateViewport(360, 740))
	b.Await(`innerWidth === 360`, `innerWidth`)
	for selector, want := range map[string]string{"b": "nightly build", "span": "job-1"} {
		if got := b.Text(`(() => { const e = document.querySelector("#job-list [data-index='1'] .names ` + selector + `"); return e.offsetWidth > 40 && e.scrollWidth <= e.clientWidth && e.getBoundingClientRect().bottom <= e.closest(".row").getBoundingClientRect().bottom ? e.textContent : "cut off"; })()`); got != want {
			t.Errorf("on a phone a job shows %q, want %q", got, want)
		}
	}
	picture(t, b, "narrow.png")
	b.Text(`document.getElementById("h-slots").scrollIntoView(); 0`)
	picture(t, b, "slots.png")
	b.Text(scrollToShares)
	b.Await(`document.querySelector("#shares table")`, whole)
	if got := b.Text(`document.querySelector("#shares [data-owner=research]").textContent + document.querySelectorAll("#shares [data-owner=research]").length`); !strings.HasPrefix(got, "research2") || !strings.HasSuffix(got, "1") {
		t.Errorf("the shares of an owner are %q", got)
	}
}

// picture writes what the page shows where PIGEON_PICTURES names a folder.
func picture(t *testing.T, b *chromiumtest.Tab, name string) {
	t.Helper()
	if to := os.Getenv("PIGEON_PICTURES"); to != "" {
		if err := os.WriteFile(to+"/"+name, b.Screenshot(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Shares of an owner are summed over groups, and applications have a link to their own page.
func TestPageShowsSharesOfAllGroupsAndApplications(t *testing.T) {
	t.Parallel()
	b := chromiumtest.Open(t, servedPlace(t, twoGroups{small()}), 1280, 1000)
	b.Await(live, whole)
	b.Text(scrollToShares)
	b.Await(`document.querySelector("#shares table")`, whole)
	if got := text(b, "#shares [data-owner=research]"); got != "research210.6661.5 s142.4 s" {
		t.Errorf("the shares of an owner in two groups are %q", got)
	}
	b.Text(`document.getElementById("applications").scrollIntoView(); 0`)
	b.Await(`document.querySelectorAll("#applications tbody tr").length === 2`, whole)
	if got := b.Text(`[...document.querySelectorAll("#applications tbody tr")].map(r => r.textContent + " " + (r.querySelector("a")?.href || "-")).join("; ")`); got != hostile+"app-1team/alice3team/alice 1,235runningopen http://driver:4040/; app-20running -" {
		t.Errorf("the applications are %q", got)
	}
}

// twoGroups shares slots of two groups.
type twoGroups struct{ *made }

func (g twoGroups) Shares(context.Context) (s api.OwnerShares, err error) {
	for i := range 2 {
		s.Groups = append(s.Groups, api.GroupOwners{Group: i, Reachable: true, Owners: []api.OwnerShare{{Owner: "research", Weight: 2, Entitled: 5.3, RunningLong: 3, QueuedShort: 3, UsedShort: .75, UsedLong: 71.2}}})
	}
	return s, nil
}
