package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// How BenchmarkFloor measures: floorWidth launches at a time, and floorTurn in each of its
// turns.
const (
	floorWidth = 64
	floorTurn  = 1000
)

// BenchmarkFloor measures what a launch by the backend costs compared with the least that a
// launch can cost, which is os/exec: processor time, of the guard and of what was started
// included, and time, 64 launches at once of a program that only exits. Both take turns, so that
// other load on the machine affects both, and the ratios are the medians over all turns (b.N of
// them):
//
//	go test -run '^$' -bench Floor -benchtime 9x ./nodemonitor/backend/process
func BenchmarkFloor(b *testing.B) {
	program := leastProgram(b)
	var guardPid atomic.Int64
	n := newNode(b, guard.Options{Started: func(pid int) { guardPid.Store(int64(pid)) }})
	if os.Geteuid() == 0 {
		own, err := accounts.New(accounts.Config{RunAs: "root", AllowRoot: true})
		if err != nil {
			b.Fatal(err)
		}
		n.cfg.Accounts = own
	}
	if r := n.run(b, task(0, program)); r.Outcome != sched.Done {
		b.Fatal(r.Reason)
	}
	var floors, guards turns
	at := 0
	for b.Loop() {
		floors.add(b, 0, func() { floorTurns(b, program) })
		guards.add(b, int(guardPid.Load()), func() { guardTurns(b, n, at, program) })
		at += floorTurn
	}
	b.ReportMetric(median(floors.cpu)*1e3, "floor-cpu-ms")
	b.ReportMetric(median(guards.cpu)*1e3, "cpu-ms")
	b.ReportMetric(ratio(guards.cpu, floors.cpu), "cpu-ratio")
	b.ReportMetric(ratio(floors.wall, guards.wall), "rate-ratio")
	b.ReportMetric(float64(residentOf(b, int(guardPid.Load())))/1e6, "guard-MB")
}

func floorTurns(b *testing.B, program string) {
	inWidth(func(int) {
		if err := exec.Command(program).Run(); err != nil {
			b.Error(err)
		}
	})
}

func guardTurns(b *testing.B, n *node, at int, program string) {
	inWidth(func(i int) {
		if r := n.run(b, task(1+at+i, program)); r.Outcome != sched.Done {
			b.Error(r.Reason)
		}
	})
}

// inWidth calls do for each launch of a turn.
func inWidth(do func(launch int)) {
	var next atomic.Int64
	done := make(chan struct{})
	for range floorWidth {
		go func() {
			for i := next.Add(1); i <= floorTurn; i = next.Add(1) {
				do(int(i))
			}
			done <- struct{}{}
		}()
	}
	for range floorWidth {
		<-done
	}
}

// turns are the seconds that a launch took, and had of processors, in each turn.
type turns struct{ wall, cpu []float64 }

// add measures a turn. The processor time is that of this process and of a guard, and of their
// children.
func (t *turns) add(b *testing.B, guard int, do func()) {
	b.Helper()
	began, before := time.Now(), processorSeconds(b, guard)
	do()
	t.wall = append(t.wall, time.Since(began).Seconds()/floorTurn)
	t.cpu = append(t.cpu, (processorSeconds(b, guard)-before)/floorTurn)
}

func processorSeconds(b *testing.B, guard int) (seconds float64) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		seconds += time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	if guard != 0 {
		var ticks [4]int64 // of 10 ms: of the guard, user and system, and of its children
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", guard))
		if err != nil {
			b.Fatal(err)
		}
		rest := text[slices.Index(text, ')')+2:]
		if _, err := fmt.Sscanf(string(rest), "%s %d %d %d %d %d %d %d %d %d %d %d %d %d %d",
			new(string), new(int), new(int), new(int), new(int), new(int), new(int), new(int), new(int), new(int), new(int),
			&ticks[0], &ticks[1], &ticks[2], &ticks[3]); err != nil {
			b.Fatal(err)
		}
		seconds += float64(ticks[0]+ticks[1]+ticks[2]+ticks[3]) / 100
	}
	return seconds
}

// residentOf returns the bytes of memory that a process has.
func residentOf(b *testing.B, pid int) (bytes int64) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(text), "%d %d", new(int64), &bytes); err != nil {
		b.Fatal(err)
	}
	return bytes * int64(os.Getpagesize())
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// ratio returns the median of the ratios of the turns.
func ratio(of, to []float64) float64 {
	each := make([]float64, len(of))
	for i := range of {
		each[i] = of[i] / to[i]
	}
	return median(each)
}

// leastProgram makes a program that does nothing but end: without a library to load, so that
// the launch is what is measured.
func leastProgram(b *testing.B) string {
	b.Helper()
	if runtime.GOARCH != "amd64" {
		return "/bin/true"
	}
	const base = 0x400000
	code := []byte{0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05} // mov eax, exit; xor edi, edi; syscall
	image := make([]byte, 120, 120+len(code))
	copy(image, "\x7fELF\x02\x01\x01")
	put := func(at, bytes int, value uint64) {
		for i := range bytes {
			image[at+i] = byte(value >> (8 * i))
		}
	}
	put(16, 2, 2)        // e_type: an executable
	put(18, 2, 62)       // e_machine: x86-64
	put(20, 4, 1)        // e_version
	put(24, 8, base+120) // e_entry
	put(32, 8, 64)       // e_phoff
	put(52, 2, 64)       // e_ehsize
	put(54, 2, 56)       // e_phentsize
	put(56, 2, 1)        // e_phnum
	put(64, 4, 1)        // p_type: to be loaded
	put(68, 4, 5)        // p_flags: readable, executable
	put(80, 8, base)     // p_vaddr
	put(96, 8, 120+9)    // p_filesz
	put(104, 8, 120+9)   // p_memsz
	put(112, 8, 0x1000)  // p_align
	path := filepath.Join(b.TempDir(), "least")
	if err := os.WriteFile(path, append(image, code...), 0o700); err != nil {
		b.Fatal(err)
	}
	return path
}

var _ backend.Backend = (*Backend)(nil)
