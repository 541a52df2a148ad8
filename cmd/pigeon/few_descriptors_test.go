package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/dev"
	"github.com/pigeon-sched/pigeon/internal/await"
)

// A dev that may open few files asks the owners of many runs to try again, which they do; their Ctrl-C cancels, and
// nobody becomes a stranger.
func TestDevWithFewDescriptors(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command("sh", "-c", `ulimit -n 96; exec "$0" dev -o json`, self)
	out, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := process.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_ = process.Wait() // interrupted
	}()
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PIGEON_FRONTEND", lines[dev.Line](t, first)[0].Frontends[0])
	var runs sync.WaitGroup
	for range 40 {
		runs.Go(func() {
			if code, stdout, stderr := program(t, "run", "--", "sh", "-c", "sleep 0.5; echo done"); code != 0 || stdout != "done\n" {
				t.Errorf("status %d: %s%s", code, stdout, stderr)
			}
		})
	}
	runs.Wait()
	begun := t.TempDir()
	var interrupted []*exec.Cmd
	for range 30 {
		cmd := exec.Command(self, "run", "--", "sh", "-c", "touch "+begun+"/$$; exec sleep 1000")
		cmd.Stderr = &bytes.Buffer{}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		interrupted = append(interrupted, cmd)
	}
	await.Until(t, "one of them runs", func() bool { // how many find a place depends on what else is open
		list, err := os.ReadDir(begun)
		return err == nil && len(list) >= 1
	})
	for _, cmd := range interrupted {
		_ = cmd.Process.Signal(os.Interrupt) // one that could not submit yet ends as well
	}
	for _, cmd := range interrupted {
		_ = cmd.Wait()
		if cmd.ProcessState.ExitCode() < 0 {
			continue // it had not begun
		}
		if text := fmt.Sprint(cmd.Stderr); !strings.Contains(text, "is cancelled") && !strings.Contains(text, "nothing was submitted") {
			t.Errorf("an interrupted run says %s", text)
		}
	}
	if got := succeed(t, "jobs", "--state", "running,queued", "-o", "json"); got != "" {
		t.Errorf("unfinished: %s", got)
	}
}
