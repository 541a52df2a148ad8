// Package chromiumtest opens pages in a real Chromium for tests. Without one the tests skip
// themselves; Debian's package chromium has it.
package chromiumtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// programs are the names under which a Chromium is looked for.
var programs = []string{"chromium", "chromium-browser", "google-chrome"}

// startWithin ends the wait for a Chromium that never starts.
const startWithin = 2 * time.Minute

// Tab is a tab of a Chromium that was started for one test, with its own profile.
type Tab struct {
	t   testing.TB
	ctx context.Context
}

// Open starts a Chromium, carries out the actions before, and opens a page in a window of the
// given size. An error in the page's script fails the test.
func Open(t testing.TB, url string, width, height int64, before ...chromedp.Action[chromedp.Void]) *Tab {
	t.Helper()
	program := ""
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("no Chromium is installed (apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], // it makes and removes its own profile
		chromedp.ExecPath(program), chromedp.Flag("headless", "new"),
		chromedp.Flag("hide-scrollbars", false), // people have them
		chromedp.DisableGPU, chromedp.WSURLReadTimeout(startWithin))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	all, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, stop := chromedp.NewContext(all, chromedp.WithListener(func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("the script of the page failed: %+v", e.ExceptionDetails)
		}
	}))
	t.Cleanup(stop)
	b := &Tab{t, ctx}
	b.Do(append(before, chromedp.EmulateViewport(width, height), chromedp.Navigate(url))...)
	return b
}

// Do carries out actions.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// Click clicks an element, wherever it is by then: the content above it may still grow.
func (b *Tab) Click(selector string) {
	b.t.Helper()
	b.Text(fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// Screenshot returns a picture of what can be seen, as PNG.
func (b *Tab) Screenshot() []byte {
	b.t.Helper()
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	return picture
}

// Text returns the value of an expression as text.
func (b *Tab) Text(expression string) string {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return fmt.Sprint(value)
}

// Await waits until an expression is true. show is an expression whose value a failure shows.
func (b *Tab) Await(expression, show string) {
	b.t.Helper()
	await.Until(b.t, expression, func() bool { return b.Text("Boolean("+expression+")") == "true" }, func() string { return b.Text(show) })
}
