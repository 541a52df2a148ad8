package guard

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/cgroup"
)

// limited is a script whose process has limits.
func limited(script string, l Limits) Spec {
	s := shell(script)
	s.Limits = l
	return s
}

// confinedClients returns a client that uses rlimits and, where this machine lets the test have a
// cgroup, one that uses that.
func confinedClients(t *testing.T) map[string]*Client {
	t.Helper()
	list := map[string]*Client{"rlimit": New(Options{Cgroup: cgroup.Off})}
	if c := New(Options{Cgroup: os.Getenv("PIGEON_TEST_CGROUP")}); c.Enforces().Cgroup != "" {
		list["cgroup"] = c
	} else {
		t.Logf("rlimits only: %s; PIGEON_TEST_CGROUP names a cgroup for this test", c.enforces.Why)
		c.Close(0)
	}
	for _, c := range list {
		t.Cleanup(func() { c.Close(0) })
	}
	return list
}

// needsCgroup returns a client that uses a cgroup, or skips the test.
func needsCgroup(t *testing.T) *Client {
	t.Helper()
	c := confinedClients(t)["cgroup"]
	if c == nil {
		t.Skip("this machine lets the test have no cgroup v2; PIGEON_TEST_CGROUP names one")
	}
	return c
}

// TestMemoryLimit: a program that takes more and more memory fails, and the reason is known; one
// that stays below the limit, and one that fails by itself, are not blamed.
func TestMemoryLimit(t *testing.T) {
	for by, c := range confinedClients(t) {
		t.Run(by, func(t *testing.T) {
			if e := c.Enforces(); e.By() != by || (e.Why == "") != (by == "cgroup") {
				t.Errorf("it enforces %+v", e)
			}
			l := Limits{Memory: 48 << 20}
			e := start(t, c, limited("exec tail /dev/zero", l)).end()
			if e.Kind != Ended || e.Status.ExitStatus() == 0 || !e.OutOfMemory || e.Peak < l.Memory/4*3 || e.Peak > 2*l.Memory {
				t.Errorf("one that takes too much ended as %+v", e)
			}
			for script, exit := range map[string]int{"exit 0": 0, "exit 3": 3} {
				if e := start(t, c, limited(script, l)).end(); e.OutOfMemory || e.Status.ExitStatus() != exit || e.Peak >= l.Memory/4*3 || by == "cgroup" && e.Peak <= 0 {
					t.Errorf("%q ended as %+v", script, e)
				}
			}
		})
	}
}

// TestMemoryOfTheGuard: what the guard has of memory is not that of a process that it starts, and is
// no reason for its failure; what a process has beyond that is.
func TestMemoryOfTheGuard(t *testing.T) {
	c := New(Options{Command: []string{os.Args[0], large}, Cgroup: cgroup.Off})
	t.Cleanup(func() { c.Close(0) })
	if e := start(t, c, limited("exit 3", Limits{Memory: largeBytes})).end(); e.Kind != Ended || e.Status.ExitStatus() != 3 || e.OutOfMemory || e.Peak != 0 {
		t.Errorf("one that has little ended as %+v", e)
	}
	l := Limits{Memory: 4 * largeBytes}
	if e := start(t, c, limited("exec tail /dev/zero", l)).end(); e.Kind != Ended || !e.OutOfMemory || e.Peak < l.Memory/4*3 {
		t.Errorf("one that takes too much ended as %+v", e)
	}
}

// TestLimitIsInherited: what a process starts has the limit as well.
func TestLimitIsInherited(t *testing.T) {
	for by, c := range confinedClients(t) {
		t.Run(by, func(t *testing.T) {
			e := start(t, c, limited("tail /dev/zero; echo it ended with $? >&2; exit 9", Limits{Memory: 48 << 20})).end()
			if e.Kind != Ended || !e.OutOfMemory {
				t.Errorf("ended as %+v, %s", e, e.Tail)
			}
		})
	}
}

// TestProcessLimit: a bomb of processes cannot start more than the limit, and all of it ends with
// its attempt.
func TestProcessLimit(t *testing.T) {
	c := needsCgroup(t)
	e := start(t, c, limited("for i in $(seq 100); do sleep 1000 & done; wait", Limits{Processes: 20})).end()
	if e.Kind != Ended || e.Status.ExitStatus() == 0 || !e.AtProcessLimit {
		t.Errorf("the bomb ended as %+v, %s", e, e.Tail)
	}
	awaitNoGroups(t, c)
}

// TestGroupEndsWithItsAttempt: even a process that left the group of processes and wiped its
// environment ends with its cgroup, which is removed.
func TestGroupEndsWithItsAttempt(t *testing.T) {
	c := needsCgroup(t)
	dir := t.TempDir()
	s := limited("env -i setsid sh -c 'echo $$ > pids; exec sleep 1000' & until [ -s pids ]; do sleep 0.01; done", Limits{Memory: 64 << 20})
	s.Dir = dir
	if e := start(t, c, s).end(); e.Status.ExitStatus() != 0 {
		t.Errorf("ended as %+v, %s", e, e.Tail)
	}
	escaped := readPids(t, dir+"/pids", 1)[0]
	await.Until(t, "the escaped process has ended", func() bool { return state(escaped) == "" })
	awaitNoGroups(t, c)
}

func awaitNoGroups(t *testing.T, c *Client) {
	t.Helper()
	var left []string
	await.Until(t, "the cgroups are removed", func() (none bool) {
		var err error
		if left, err = filepath.Glob(c.Enforces().Cgroup + "/task-*"); err != nil {
			t.Fatal(err)
		}
		return len(left) == 0
	}, func() string { return strings.Join(left, " ") })
}

// TestWeight: of two processes that compute on one processor, the one with the smaller weight gets
// the smaller part of it.
func TestWeight(t *testing.T) {
	for by, c := range confinedClients(t) {
		t.Run(by, func(t *testing.T) {
			cpu := allowedCPU(t)
			script := fmt.Sprintf("exec taskset -c %d sh -c 'while :; do :; done'", cpu)
			usual, lesser := start(t, c, limited(script, Limits{Weight: 100})), start(t, c, limited(script, Limits{Weight: 10}))
			a, b := usual.pid(), lesser.pid()
			await.Until(t, "they have computed for a second", func() bool { return ticks(t, a)+ticks(t, b) >= 100 }, func() string {
				return fmt.Sprintf("%d and %d ticks", ticks(t, a), ticks(t, b))
			})
			if x, y := ticks(t, a), ticks(t, b); x < 3*y {
				t.Errorf("the one of the usual weight computed for %d ticks, that of a tenth for %d", x, y)
			}
			for _, r := range []*run{usual, lesser} {
				c.Kill(r.handle, 0)
				r.end()
			}
		})
	}
}

// allowedCPU returns a processor on which this process may run.
func allowedCPU(t *testing.T) int {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("this process may run on no processor")
	return 0
}

// ticks returns for how long a process has computed, in hundredths of a second.
func ticks(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	sum := 0
	for _, f := range fields[11:13] { // user and system
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// TestNice: each step of the nice value is a quarter of the weight.
func TestNice(t *testing.T) {
	for weight, want := range map[int]int{0: 0, 100: 0, 200: 0, 50: 3, 10: 10, 1: 19} {
		got := niceOf(weight)
		if got != want {
			t.Errorf("the nice value of weight %d is %d, want %d", weight, got, want)
		}
		if ratio := math.Pow(1.25, float64(got)) * float64(weight) / 100; got > 0 && got < 19 && (ratio < 0.85 || ratio > 1.18) {
			t.Errorf("the nice value %d is a weight of %v of %d", got, ratio, weight)
		}
	}
}
