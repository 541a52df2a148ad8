package process

import (
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// BenchmarkLaunch measures one exec task that does nothing, start to end:
// one after another, and eight at a time.
func BenchmarkLaunch(b *testing.B) {
	for name, width := range map[string]int{"one": 1, "eight": 8} {
		b.Run(name, func(b *testing.B) {
			n := newNode(b, guard.Options{})
			n.run(b, task(0, "/bin/true")) // the guard is up
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
		})
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
