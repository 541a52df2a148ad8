package guard

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/await"
)

// TestMain makes the test binary its own guard, and the victim of the tests that
// kill a node monitor.
func TestMain(m *testing.M) {
	if deep := os.Getenv(unregistered); deep != "" {
		careless(deep)
	}
	if len(os.Args) > 1 && os.Args[1] == bySignals {
		os.Exit(runGuard(false))
	}
	if len(os.Args) > 1 && os.Args[1] == large {
		if _, err := unix.Mmap(-1, 0, largeBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE); err != nil {
			panic(err)
		}
		os.Exit(Main())
	}
	if len(os.Args) > 1 && os.Args[1] == leaser {
		holdLeases(os.Args[2:])
		os.Exit(0)
	}
	Register()
	if len(os.Args) > 1 && os.Args[1] == "victim" {
		victim(os.Args[2:])
	}
	// A guard built with -race would otherwise sleep for a second before it exits.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// bySignals is the verb of a guard that does as on a kernel without pidfds.
const bySignals = "guard-by-signals"

// large is the verb of a guard that has more memory than a small process, as that of a large program
// has.
const (
	large      = "large-guard"
	largeBytes = 64 << 20
)

// victim runs one shell script under a guard and waits to be killed. With a folder and a
// grace before it the guard waits for a successor.
func victim(args []string) {
	o := Options{}
	if len(args) > 1 {
		grace, err := time.ParseDuration(args[1])
		if err != nil {
			panic(err)
		}
		o = options(args[0], grace)
		args = args[2:]
	}
	c := New(o)
	spec := Spec{Argv: append([]string{"sh", "-c"}, args...), Dir: "/", Note: []byte("of the victim")}
	if _, err := c.Start(spec, func(e Event) { _, _ = fmt.Fprintln(os.Stdout, e.Kind, e.Pid) }); err != nil {
		panic(err)
	}
	select {}
}

// run is one process of a test.
type run struct {
	t      *testing.T
	handle Handle
	events chan Event
}

func start(t *testing.T, c *Client, spec Spec) *run {
	t.Helper()
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	r := &run{t: t, events: make(chan Event, 4)}
	h, err := c.Start(spec, func(e Event) { r.events <- e })
	if err != nil {
		t.Fatal(err)
	}
	r.handle = h
	return r
}

func shell(script string) Spec { return Spec{Argv: []string{"sh", "-c", script}, Limit: 1 << 20} }

// pid waits for the start.
func (r *run) pid() int {
	r.t.Helper()
	e := r.next()
	if e.Kind != Started {
		r.t.Fatalf("got event %d (%+v), want the start", e.Kind, e.Fault)
	}
	return e.Pid
}

// end waits for the last event.
func (r *run) end() Event {
	r.t.Helper()
	for {
		if e := r.next(); e.Kind.last() {
			return e
		}
	}
}

// next waits for the next event, on a slow machine too, where any start may be held up.
func (r *run) next() Event {
	r.t.Helper()
	select {
	case e := <-r.events:
		if e.Kind == HeldUp {
			return r.next()
		}
		return e
	case <-time.After(await.Limit):
		r.t.Fatal("no event within 20 s")
		return Event{}
	}
}

func client(t *testing.T) *Client {
	t.Helper()
	c := New(Options{})
	t.Cleanup(func() { c.Close(0) })
	return c
}

// state returns the letter of a process's state, "" when there is no process.
func state(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))[0]
}

// readPids waits for a file of pids that scripts write, one a line.
func readPids(t *testing.T, path string, n int) []int {
	t.Helper()
	var out []int
	await.Until(t, path+" is written", func() bool {
		text, err := os.ReadFile(path)
		if err != nil || strings.Count(string(text), "\n") < n {
			return false
		}
		out = out[:0]
		for f := range strings.FieldsSeq(string(text)) {
			var pid int
			if _, err := fmt.Sscan(f, &pid); err != nil {
				t.Fatal(err)
			}
			out = append(out, pid)
		}
		return true
	})
	return out
}
