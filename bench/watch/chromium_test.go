package watch

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/bench/chromiumtest"
)

// The page plays in a browser from a file, with the modules that the page of a live cluster has.
func TestPageInChromium(t *testing.T) {
	r := &Recording{Title: `<img src=x onerror="window.broken=1">`, Span: 4e9, Workers: []Worker{{"0", 0}, {"1", 0}, {"2", 1}},
		Runs: []Run{{Worker: 0, End: 4e9, Long: true}, {Worker: 1, Start: 1e9, End: 2e9, Wait: 1e9}, {Worker: 2, End: 3e9}}, Jobs: []Job{{Completed: 2e9, Took: 2e9}}}
	var html bytes.Buffer
	if err := Write(&html, []*Recording{r}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, html.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b := chromiumtest.Open(t, "file://"+file+"#t=1.5", 1000, 800)
	const clock = `document.getElementById("clock").textContent`
	b.Await(clock+` === "1.50 s of 4.00 s"`, clock)
	if got := b.Text(`document.querySelector("h2").textContent + " " + window.broken + " " + document.querySelectorAll("img").length`); got != r.Title+" undefined 0" {
		t.Errorf("the title is %q", got)
	}
	// A long task runs in the first cell, a short one in the next.
	colors := `[...new Set(Array.from({ length: 40 }, (_, i) => { const c = document.querySelector("canvas"), d = c.getContext("2d").getImageData(4 + 4 * i, 34, 1, 1).data; return [...d.slice(0, 3)].join(); }))].join(" ")`
	b.Await(colors+`.includes("230,159,0") && `+colors+`.includes("0,114,178")`, colors)
}
