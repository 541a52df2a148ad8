package pagetest

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
)

// An owner keeps its colour while others come and go; of up to twelve that can be seen at a time, each has
// another one.
func TestOwnersKeepTheirColours(t *testing.T) {
	t.Parallel()
	b := chromiumtest.Open(t, served(t, small())+"page/style.css", 400, 300)
	b.Text(`import("/page/colors.js").then(m => { window.colors = new m.Colors(); })`)
	b.Await(`window.colors`, `document.documentElement.outerHTML`)
	b.Text(`window.names = (from, n) => [...Array(n).keys()].map(i => "o" + (from + i));
		window.different = () => new Set(colors.owners.map(o => colors.owner(o))).size;
		window.first = null`)
	for _, step := range []struct {
		seen      string
		different int // colours of those that can be seen
	}{
		{`["o5", "o6"]`, 2}, {`["o1", "o5", "o6"]`, 3}, {`["o5"]`, 1}, {`names(5, 12)`, 12}, {`["o5", ...names(40, 11)]`, 12}, {`["o5", ...names(6, 11)]`, 12}, {`["o5", ...names(10, 30)]`, 12},
		{`["o5", ...names(100, 2000)]`, 12}, {`["o5"]`, 1},
	} {
		b.Text(fmt.Sprintf(`colors.know(%s); first ??= colors.owner("o5")`, step.seen))
		if got := b.Text(`[colors.owner("o5") === first, different()].join()`); got != fmt.Sprintf("true,%d", step.different) {
			t.Errorf("%s: whether o5 kept its colour, and how many differ: %s, want true,%d", step.seen, got, step.different)
		}
	}
}
