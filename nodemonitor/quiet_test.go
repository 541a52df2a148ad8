package nodemonitor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A task that has written nothing for longer than log_retention keeps its working folder and its
// output when its node monitor is started again.
func TestQuietTaskOutlivesARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	n := w.start(nil)
	c, id := n.cfg, attemptOf(1, 0)
	n.deliver(w.launch(0, 0, id, shell(`echo x > result; echo before; while [ ! -e go ]; do sleep 0.01; done; cat result`)))
	job := filepath.Join(c.WorkDir, id.Job.String())
	folder, output := filepath.Join(job, "0.1"), filepath.Join(job, "0.1.out")
	awaitFile(t, filepath.Join(folder, "result"))
	awaitFile(t, output)
	long := time.Now().Add(-2 * c.LogRetention)
	if err := errors.Join(os.Chtimes(folder, long, long), os.Chtimes(output, long, long)); err != nil {
		t.Fatal(err)
	}
	n.again(c)
	if err := os.WriteFile(filepath.Join(folder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if it := w.result(id); it.Exit != 0 {
		t.Errorf("it ended as %+v", it)
	}
	if text, err := os.ReadFile(output); string(text) != "before\nx\n" {
		t.Errorf("it has written %q (%v)", text, err)
	}
}
