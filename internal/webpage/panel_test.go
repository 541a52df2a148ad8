package webpage_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/chromiumtest"
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
