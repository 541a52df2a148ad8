package doctor

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// filesWanted is what a local cluster of 120 nodes with a connection each to
// its master and to ten frontends, both ends in one process, may hold open.
const filesWanted = 4096

func machine(context.Context) Finding {
	f := Finding{Status: Good, Found: fmt.Sprintf("%s/%s, %d processors usable, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())}
	if runtime.GOMAXPROCS(0) == 1 {
		f.Status = Warn
		f.Advice = "with one processor the load generator and the daemons take turns; measured times are those of the turns"
	}
	return f
}

func openFiles(context.Context) Finding {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return Finding{Status: Warn, Found: fmt.Sprintf("limit could not be read: %v", err), Advice: "see that 'ulimit -n' is at least 4096"}
	}
	f := Finding{Status: Good, Found: fmt.Sprintf("%d may be open (at most %d)", limit.Cur, limit.Max)}
	if limit.Cur < filesWanted {
		f.Status = Warn
		f.Advice = fmt.Sprintf("a local cluster of 120 nodes may need %d: run 'ulimit -n %d' first, or raise LimitNOFILE of the service", filesWanted, filesWanted)
	}
	return f
}

// timers measures how late a short timer fires, and the smallest step of the clock.
func timers(ctx context.Context) Finding {
	const asked, samples = 100 * time.Microsecond, 20
	late := make([]time.Duration, 0, samples)
	for range samples {
		begin := time.Now()
		t := time.NewTimer(asked)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return Finding{Status: Warn, Found: "interrupted", Advice: "run it again"}
		}
		late = append(late, time.Since(begin))
	}
	slices.Sort(late)
	step := time.Duration(1 << 62)
	for range 1000 {
		begin := time.Now()
		d := time.Since(begin)
		for d == 0 {
			d = time.Since(begin)
		}
		step = min(step, d)
	}
	f := Finding{Status: Good, Found: fmt.Sprintf("a timer of %v fires after %v (median), %v (slowest of %d); the clock steps by %v", asked, late[samples/2].Round(time.Microsecond), late[samples-1].Round(time.Microsecond), samples, step)}
	if late[samples/2] > 5*time.Millisecond || step > 100*time.Microsecond {
		f.Status = Warn
		f.Advice = "sleep tasks end late and short delays cannot be measured; look for a busy machine or a virtual machine that is short of time"
	}
	return f
}
