package executors_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/executors"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// offer starts n attempts of an application; the channel gets their ends.
func (w *world) offer(app string, n int) <-chan backend.Result {
	done := make(chan backend.Result, n)
	for i := range n {
		id := sched.AttemptID{Job: sched.NewJobID("f1", app), Task: int32(i), Attempt: 1} //nolint:gosec // small
		w.holds.Start(backend.Task{ID: id, App: app}, func(r backend.Result) { done <- r })
	}
	return done
}

// What is read while the files of an output are rotated is a part of the output without a gap.
func TestOutputThatIsRotatedWhileItIsRead(t *testing.T) {
	const lines = 5_000
	w := newWorld(t, func(c *executors.Config) { c.OutputLimit = 9 })
	w.order(shell("app", fmt.Sprintf(`seq -f %%08g 1 %d; sleep 1000`, lines)), "1")
	last := fmt.Sprintf("%08d\n", lines)
	w.await("the last line", func(wire.Holdings) bool {
		code, text := w.log("/applications/app/1/stdout?tail=0")
		if code != http.StatusOK || text == "" {
			return false
		}
		var first int
		if _, err := fmt.Sscanf(text, "%d", &first); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var whole strings.Builder
		for i := range (len(text) + 8) / 9 {
			fmt.Fprintf(&whole, "%08d\n", first+i)
		}
		if !strings.HasPrefix(whole.String(), text) {
			t.Fatalf("%q, want it to begin %q", text, whole.String())
		}
		return strings.HasSuffix(text, last)
	})
	if _, text := w.log("/applications/app/1/stdout?tail=0"); len(text) != 4*9 {
		t.Errorf("%q, want the 4 last lines", text)
	}
}

// The end of an output over all its files, and never through a link.
func TestTail(t *testing.T) {
	w := newWorld(t, func(c *executors.Config) { c.OutputLimit = 9 })
	a := shell("app", `for i in 1 2 3 4 5; do echo "line $i  "; done; ln -s /etc/passwd stderr; sleep 1000`)
	w.order(a, "1")
	var text string
	w.await("the last line", func(wire.Holdings) bool {
		_, text = w.log("/applications/app/1/stdout?tail=0")
		return strings.Contains(text, "line 5")
	})
	if want := "line 2  \nline 3  \nline 4  \nline 5  \n"; !strings.HasSuffix(text, want) || len(text) > 45 {
		t.Errorf("%q, want it to end with %q", text, want)
	}
	if _, got := w.log("/applications/app/1/stdout?tail=4"); got != text[len(text)-4:] {
		t.Errorf("the last 4 bytes: %q", got)
	}
	w.await("the link", func(wire.Holdings) bool {
		_, err := os.Lstat(filepath.Join(w.cfg.Folder, "app/1/stderr"))
		return err == nil
	})
	if code, got := w.log("/applications/app/1/stderr"); code != 409 || !strings.Contains(got, "a symbolic link") {
		t.Errorf("read through a link: %d %q", code, got)
	}
	for path, want := range map[string]int{
		"/applications/app/1/stdin": 404, "/applications/app/2/stdout": 404, "/applications/.over-1/1/stdout": 404,
		"/applications/app/1/stdout?tail=x": 400, "/applications/app/..%2f1/stdout": 404,
	} {
		if status, _ := w.log(path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
}
