package nodemonitor

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// within returns the payload with a time limit.
func within(p api.Payload, limit time.Duration) api.Payload {
	p.Limits = &api.Limits{Time: limit}
	return p
}

// checkOvertime checks the report of an attempt that was sent at that instant and ended at its
// time limit.
func checkOvertime(t *testing.T, r *wire.Item, limit time.Duration, sent time.Time) {
	t.Helper()
	if r.Msg.Outcome != sched.Failed || r.Code != api.CodeTimeLimit || !strings.Contains(r.Msg.Reason, "it ran for "+limit.String()) {
		t.Errorf("report %s, code %q", sched.Describe(&r.Msg), r.Code)
	}
	// A sleeping task begins at the launch, before its start is recorded.
	if ran := r.Elapsed - r.Suspended + r.Started.Sub(sent); ran < limit {
		t.Errorf("it ran for %v, and its limit is %v", ran, limit)
	}
}

// TestTimeLimit: a task that runs for longer than its limit, or the node's, is ended and fails
// with that reason; one that ignores SIGTERM is killed after the grace; others continue.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	const limit = 200 * time.Millisecond
	for name, c := range map[string]struct {
		payload api.Payload
		change  func(*Config)
	}{
		"sleep":             {within(sleepFor(time.Hour), limit), nil},
		"exec":              {within(shell("exec sleep 1000"), limit), nil},
		"exec with a trap":  {within(shell("trap 'exit 0' TERM; while :; do sleep 0.01; done"), limit), func(c *Config) { c.Grace = time.Hour }},
		"exec that ignores": {within(shell("trap '' TERM; while :; do sleep 0.01; done"), limit), func(c *Config) { c.Grace = 10 * time.Millisecond }},
		"node's default":    {sleepFor(time.Hour), func(c *Config) { c.DefaultTimeLimit = limit }},
		"node's bound":      {shell("exec sleep 1000"), func(c *Config) { c.MaxTimeLimit = limit }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			n := w.start(c.change)
			limited, free := attemptOf(1, 0), attemptOf(2, 0)
			items := []wire.Item{w.launch(0, 0, limited, c.payload)}
			own := c.payload.Limits != nil
			if own {
				items = append(items, w.launch(1, 0, free, sleepFor(time.Hour)))
			}
			sent := time.Now()
			n.deliver(items...)
			r := w.reported(limited)
			checkOvertime(t, &r, limit, sent)
			if whose := "the time limit of tasks on that node"; strings.Contains(r.Msg.Reason, whose) == own {
				t.Errorf("its own limit: %v; the reason is %q", own, r.Msg.Reason)
			}
			if _, page := n.get("/metrics"); !strings.Contains(page, `attempts_failed_total{reason="time_limit"} 1`) {
				t.Error("the metrics do not count it")
			}
			n.look(func(o *owner) {
				if own && started(o) != 1 {
					t.Errorf("%d attempts run, want the other one", started(o))
				}
			})
		})
	}
}

// TestTimeLimitOfAHeldUpStart: the limit counts while a file of the user holds up the start of the program.
func TestTimeLimitOfAHeldUpStart(t *testing.T) {
	t.Parallel()
	held := filepath.Join(t.TempDir(), "held")
	if err := os.WriteFile(held, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	f, err := os.Open(held)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read from
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("no lease on a file: %v", err)
	}
	const limit = 200 * time.Millisecond
	w := newWorld(t, false)
	n := w.start(nil)
	id := attemptOf(1, 0)
	n.deliver(w.launch(0, 0, id, within(api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{held}}}, limit)))
	if r := w.reported(id); r.Msg.Outcome != sched.Failed || r.Code != api.CodeTimeLimit || !strings.Contains(r.Msg.Reason, "its program did not begin within "+limit.String()) {
		t.Errorf("report %s, code %q", sched.Describe(&r.Msg), r.Code)
	}
}

// TestTimeLimitWithoutTheFetching: the time in which the files of a task are fetched is no part of its limit.
func TestTimeLimitWithoutTheFetching(t *testing.T) {
	t.Parallel()
	const limit, content = 2 * time.Second, "x"
	w := newWorld(t, false)
	w.update(func() { w.file, w.fileFrom = content, time.Now().Add(limit+limit/4) })
	n := w.start(nil)
	p := within(shell("cat data"), limit)
	hash := sha256.Sum256([]byte(content))
	p.Stage = []api.StagedFile{{Name: "data", SHA256: hex.EncodeToString(hash[:]), Size: int64(len(content))}}
	id := attemptOf(1, 0)
	n.deliver(w.launch(0, 0, id, p))
	if r := w.reported(id); r.Msg.Outcome != sched.Done {
		t.Errorf("report %s, code %q", sched.Describe(&r.Msg), r.Code)
	}
}

// TestTimeLimitIsOver: the limit has no effect on a task that ended within it.
func TestTimeLimitIsOver(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	id := attemptOf(1, 0)
	n.deliver(w.launch(0, 0, id, within(sleepFor(time.Millisecond), time.Hour)))
	if r := w.reported(id); r.Msg.Outcome != sched.Done || r.Code != "" {
		t.Errorf("report %s, code %q", sched.Describe(&r.Msg), r.Code)
	}
}

// TestKilledBeforeTheLimit: a task that its user ends has not met its limit.
func TestKilledBeforeTheLimit(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	id := attemptOf(1, 0)
	n.deliver(w.launch(0, 0, id, within(sleepFor(time.Hour), time.Hour)))
	kill := w.launch(0, 0, id, sleepFor(0))
	kill.Msg.Kind, kill.Extra = sched.Kill, wire.Extra{}
	n.deliver(kill)
	if r := w.reported(id); r.Msg.Outcome != sched.Killed || r.Code != "" {
		t.Errorf("report %s, code %q", sched.Describe(&r.Msg), r.Code)
	}
}

// TestAboveNodeLimit: a task that requests more than its node allows fails there before it begins.
func TestAboveNodeLimit(t *testing.T) {
	for want, l := range map[string]api.Limits{
		"max_memory":     {Memory: 65 << 20},
		"max_cpus":       {CPUs: 1.5},
		"max_time_limit": {Time: 2 * time.Hour},
	} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t, false)
			n := w.start(func(c *Config) { c.MaxMemory, c.MaxCPUs, c.MaxTimeLimit = 64, 1, time.Hour })
			id := attemptOf(1, 0)
			p := shell("exit 0")
			p.Limits = &l
			n.deliver(w.launch(0, 0, id, p))
			r := w.reported(id)
			if r.Msg.Outcome != sched.Failed || r.Code != api.CodeAboveNodeLimit || !strings.Contains(r.Msg.Reason, want) || !r.Started.IsZero() {
				t.Errorf("report %s, code %q, started %v", sched.Describe(&r.Msg), r.Code, r.Started)
			}
		})
	}
}

// TestMemoryOfATask: a task that takes more memory than its limit, or the node's, fails with that
// code; its stderr and the memory that it had are reported.
func TestMemoryOfATask(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(func(c *Config) { c.DefaultMemory, c.Cgroup = 512, "off" })
	greedy, modest := attemptOf(1, 0), attemptOf(2, 0)
	n.deliver(w.launch(0, 0, greedy, shell("exec tail /dev/zero")), w.launch(1, 0, modest, shell("exit 0")))
	if r := w.reported(greedy); r.Msg.Outcome != sched.Failed || r.Code != api.CodeOutOfMemory || !strings.Contains(r.Msg.Reason, "of the 512M of memory that each may have (RLIMIT_DATA)") {
		t.Errorf("report %s, code %q", sched.Describe(&r.Msg), r.Code)
	}
	if r := w.reported(modest); r.Msg.Outcome != sched.Done {
		t.Errorf("report %s", sched.Describe(&r.Msg))
	}
	if _, page := n.get("/status"); !strings.Contains(page, `"limits":{"by":"rlimit","why":"the setting cgroup is \"off\""}`) {
		t.Errorf("/status is %s", page)
	}
	if _, page := n.get("/metrics"); !strings.Contains(page, `limits_enforced{by="rlimit"} 1`) || !strings.Contains(page, `attempts_failed_total{reason="out_of_memory"} 1`) {
		t.Error("the metrics do not show it")
	}
}

// TestSuspendedKeepTheirLimit: the time for which a task is suspended does not count, under
// pigeon-x and kairos; afterwards it has what was left.
func TestSuspendedKeepTheirLimit(t *testing.T) {
	t.Parallel()
	const limit, inBetween = time.Second, 1500 * time.Millisecond
	for _, policy := range []string{"pigeon-x", "kairos"} {
		for backend, hold := range holds() {
			t.Run(policy+" "+backend, func(t *testing.T) {
				long, short := attemptOf(1, 0), attemptOf(1, 1)
				var w *world
				var sent time.Time
				if policy == "pigeon-x" {
					w = newWorld(t, false)
					n := w.under(policy, func(c *Config) { c.Slots = 1 }, "n1")[0]
					sent = time.Now()
					n.deliver(w.launch(0, 0, long, within(hold, limit)))
					preempt := w.launch(0, 0, short, sleepFor(inBetween))
					preempt.Msg.Kind, preempt.Msg.Kept = sched.Preempt, []sched.AttemptID{long}
					n.deliver(preempt)
					w.reported(short)
					resume := w.launch(0, 3, long, sleepFor(0))
					resume.Msg.Kind, resume.Extra = sched.Continue, wire.Extra{}
					n.deliver(resume)
				} else {
					w, _ = newPeerWorld(t)
					n := w.under("kairos:q=2,quantum=1h,heartbeat=20ms", func(c *Config) { c.Slots = 1 }, "n1")[0]
					sent = time.Now()
					n.deliver(w.assignKairos(n, 1, long, within(hold, limit)))
					n.deliver(w.assignKairos(n, 2, short, sleepFor(inBetween)))
					w.reported(short)
				}
				r := w.reported(long)
				checkOvertime(t, &r, limit, sent)
				if r.Suspended <= 0 {
					t.Errorf("it was suspended for %v", r.Suspended)
				}
			})
		}
	}
}

// TestRestartKeepsTheLimit: the next process of the node ends at its limit a task that a former
// one has started.
func TestRestartKeepsTheLimit(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	for backend, hold := range holds() {
		t.Run(backend, func(t *testing.T) {
			w := newWorld(t, false)
			n := w.start(nil)
			id, sent := attemptOf(1, 0), time.Now()
			n.deliver(w.launch(0, 0, id, within(hold, limit)))
			n.until("it runs", func(o *owner) bool { return started(o) == 1 })
			n.again(n.cfg)
			r := w.result(id)
			checkOvertime(t, &r, limit, sent)
		})
	}
}

// TestLimitSettings: invalid bounds of the node are refused with the name of the setting.
func TestLimitSettings(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"default_time_limit": func(c *Config) { c.DefaultTimeLimit, c.MaxTimeLimit = 2*time.Hour, time.Hour },
		"max_time_limit":     func(c *Config) { c.MaxTimeLimit = -1 },
		"default_memory":     func(c *Config) { c.DefaultMemory, c.MaxMemory = 2, 1 },
		"max_memory":         func(c *Config) { c.MaxMemory = -1 },
		"default_cpus":       func(c *Config) { c.DefaultCPUs, c.MaxCPUs = 2, 1 },
		"max_cpus":           func(c *Config) { c.MaxCPUs = 1e9 },
		"max_task_processes": func(c *Config) { c.MaxTaskProcesses = -1 },
		"class_weight":       func(c *Config) { c.ClassWeight = 101 },
		"cgroup":             func(c *Config) { c.Cgroup = "relative" },
	} {
		c := Default()
		c.ID = "n1"
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	for weight, want := range map[int]int{1: 0, 2: 50, 10: 10, 100: 1} {
		if got := (&Config{ClassWeight: weight}).longWeight(); got != want {
			t.Errorf("with class_weight %d a long task has the weight %d, want %d", weight, got, want)
		}
	}
}
