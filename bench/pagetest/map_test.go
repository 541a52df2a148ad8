package pagetest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// What is said of the chosen slot is what is in it now, and the slot stays chosen when nodes come and go.
func TestPageSaysWhatIsInTheChosenSlotNow(t *testing.T) {
	t.Parallel()
	q := newQuiet(4)
	b := chromiumtest.Open(t, served(t, q), 1280, 1000)
	b.Await(live+` && document.querySelector("#slots").dataset.cells === "4"`, whole)
	b.Text(`document.getElementById("slots").focus()`)
	chosen := func(text string) {
		b.Await(fmt.Sprintf(`document.getElementById("chosen").textContent.startsWith(%q)`, text), `document.getElementById("chosen").textContent`)
	}
	b.Do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	chosen("Node node-1, group 0, slot 0: idle")
	q.change(func(nodes []api.Node) []api.Node {
		nodes[1].SlotUse, nodes[1].Busy = "s-", 1
		return nodes
	})
	chosen("Node node-1, group 0, slot 0: runs a short task")
	q.change(func(nodes []api.Node) []api.Node { return nodes[1:] })
	b.Await(`document.querySelector("#slots").dataset.cells === "3"`, whole)
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	chosen("Node node-2, ")
	q.change(func(nodes []api.Node) []api.Node { return nodes[:1] })
	chosen("Node node-2 has no slot 0 any more.")
}

// The legend says whole how many owners it does not name.
func TestLegendOfManyOwners(t *testing.T) {
	t.Parallel()
	q := newQuiet(20)
	for i := range q.nodes {
		q.nodes[i].SlotUse, q.nodes[i].Busy, q.nodes[i].Owners = "s0", 1, []string{fmt.Sprint("owner-", i)}
	}
	b := chromiumtest.Open(t, served(t, q), 1280, 900)
	b.Await(live, whole)
	b.Click("input[value=owner]")
	b.Await(`document.querySelector("#legend").textContent.endsWith("and 8 more owners, in the same colours again")`, `document.querySelector("#legend").textContent`)
	if got := b.Text(`[...document.querySelectorAll("#legend > span")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent).join()`); got != "" {
		t.Errorf("of the legend, %q is cut off", got)
	}
}
