package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/cgroup"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// BenchmarkLaunch measures one exec task that does nothing, start to end: one after another, and
// eight at a time; and as another user, where root runs it.
func BenchmarkLaunch(b *testing.B) {
	nobody, err := accounts.New(accounts.Config{RunAs: "nobody"})
	if err != nil {
		b.Fatal(err)
	}
	for _, as := range []struct {
		name string
		who  *accounts.Accounts
	}{{"own", accounts.Own()}, {"another user", nobody}} {
		for name, width := range map[string]int{"one": 1, "eight": 8} {
			b.Run(as.name+"/"+name, func(b *testing.B) { launch(b, as.who, width) })
		}
	}
}

func launch(b *testing.B, as *accounts.Accounts, width int) {
	b.Helper()
	if as.Others() && os.Geteuid() != 0 {
		b.Skip("only root can run processes as another user")
	}
	n := newNode(b, guard.Options{})
	n.cfg.Accounts = as
	if err := os.Chmod(filepath.Dir(n.root), 0o711); err != nil { // others may not pass a folder of a test
		b.Fatal(err)
	}
	if err := os.Chmod(n.root, 0o711); err != nil {
		b.Fatal(err)
	}
	if r := n.run(b, task(0, "/bin/true")); r.Outcome != sched.Done { // the guard is up
		b.Fatal(r.Reason)
	}
	var next atomic.Int32
	free := make(chan struct{}, width)
	for range width {
		free <- struct{}{}
	}
	for b.Loop() {
		<-free
		n.Start(task(int(next.Add(1)), "/bin/true"), func(backend.Result) { free <- struct{}{} })
	}
	for range width {
		<-free
	}
}

// BenchmarkLimits measures the same with limits: by rlimits and, where PIGEON_TEST_CGROUP names a
// cgroup v2 or one was delegated, by that cgroup. "class" has only the weight of a long task.
func BenchmarkLimits(b *testing.B) {
	for by, setting := range map[string]string{"rlimit": cgroup.Off, "cgroup": os.Getenv("PIGEON_TEST_CGROUP")} {
		for name, limits := range map[string]api.Limits{"none": {}, "class": {}, "memory": {Memory: 1 << 30}, "all": {Memory: 1 << 30, CPUs: 2}} {
			b.Run(by+"/"+name, func(b *testing.B) {
				n := newNode(b, guard.Options{Cgroup: setting})
				if e := n.guard.Enforces(); e.By() != by {
					b.Skip(e.Why)
				}
				if name != "none" {
					n.cfg.LongWeight = 10
				}
				n.run(b, task(0, "/bin/true")) // the guard is up
				at := 0
				for b.Loop() {
					at++
					k := task(at, "/bin/true")
					k.Limits = limits
					n.run(b, k)
				}
			})
		}
	}
}

// BenchmarkDirect starts the same program with os/exec from this process, small
// and with 512 MiB of touched heap: what the guard costs, and what it spares.
func BenchmarkDirect(b *testing.B) {
	for name, heap := range map[string]int{"small": 0, "512MiB": 512 << 20} {
		b.Run(name, func(b *testing.B) {
			ballast := make([]byte, heap)
			for i := 0; i < len(ballast); i += os.Getpagesize() {
				ballast[i] = 1
			}
			for b.Loop() {
				if err := exec.Command("/bin/true").Run(); err != nil {
					b.Fatal(err)
				}
			}
			runtime.KeepAlive(ballast)
		})
	}
}
