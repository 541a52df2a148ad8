package frontend_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
)

// messages returns a job of the given number of tasks for the application's backends, with
// different payloads of the given size.
func messages(key string, tasks, size int) *api.Request {
	r := &api.Request{App: "app", Key: key}
	for i := range tasks {
		m := make([]byte, size)
		m[0], m[1], m[2] = byte(i), byte(i>>8), byte(i>>16)
		r.Tasks = append(r.Tasks, api.Task{Payload: api.Payload{Message: m}})
	}
	return r
}

func refusal(t *testing.T, err error) *api.Error {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		t.Fatalf("%v is no refusal", err)
	}
	return e
}

// The bytes of unfinished jobs are bounded. The refusal names the limit and the holder of
// the most bytes; a job that ends makes room; a shared payload counts once.
func TestBytesOfUnfinishedJobsAreBounded(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	w := newWorld(t)
	w.master()
	f := w.frontend(func(c *frontend.Config) { c.MaxBytes = limit })
	for i := range 7 {
		w.submit(f, messages(fmt.Sprint("held-", i), 10, 100<<10)) // no backend: they stay
	}
	if held := f.HeldBytes(); held < 7_000_000 || held > 7<<20+7*(10*200+3000) {
		t.Errorf("7 jobs with payloads of 1,024,000 bytes are counted as %d bytes", held)
	}
	_, _, err := f.Submit(t.Context(), messages("one more", 20, 100<<10))
	if e := refusal(t, err); e.Problem != api.Busy || e.RetryAfter == 0 || !strings.Contains(e.What, "8388608 (max_bytes)") ||
		!strings.Contains(e.What, `application "app" holds the most`) || !strings.Contains(e.What, "in 7 unfinished jobs") {
		t.Errorf("beyond the limit: %v", err)
	}
	_, _, err = f.Submit(t.Context(), messages("too large", 100, 100<<10))
	if e := refusal(t, err); e.Problem != api.Invalid || e.RetryAfter != 0 || !strings.Contains(e.What, "max_bytes") {
		t.Errorf("above the whole limit: %v", err)
	}
	same := messages("same", 1, 100<<10)
	for range 99 {
		same.Tasks = append(same.Tasks, api.Task{Payload: api.Payload{Message: bytes.Clone(same.Tasks[0].Payload.Message)}})
	}
	w.submit(f, same) // 10 MB on the wire, one payload in memory
	if n, ok := f.Metric(t, "pigeon_frontend_jobs_refused_total", "max_bytes"); !ok || n != 2 {
		t.Errorf("%v submissions are counted as refused for their bytes, want 2", n)
	}
	before := f.HeldBytes()
	f = w.restartFrontend(f)
	if now := f.HeldBytes(); now < before-10_000 || now > before+10_000 {
		t.Errorf("%d bytes are held, and %d after a restart", before, now)
	}
	for i := range 7 {
		if _, err := f.Cancel(t.Context(), fmt.Sprint("held-", i)); err != nil {
			t.Fatal(err)
		}
	}
	w.submit(f, messages("one more", 20, 100<<10))
	for _, key := range []string{"same", "one more"} {
		if _, err := f.Cancel(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	daemontest.Await(t, "nothing is held", func() bool { return f.HeldBytes() == 0 })
}

// A key that is used again for other work is refused, while the first job is unfinished,
// when it has ended, and after a restart; the same request is the same job each time.
func TestKeyOfAnotherJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	f := w.frontend()
	again := func(when string) {
		t.Helper()
		repeated := sleeps("key", 4, 0)
		repeated.Trace = api.Trace{Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"} // a new one for each try
		if _, duplicate, err := f.Submit(t.Context(), repeated); err != nil || !duplicate {
			t.Errorf("%s, the same request: duplicate %v, %v", when, duplicate, err)
		}
		for want, other := range map[string]*api.Request{"6 tasks instead of 4": sleeps("key", 6, 0), "": sleeps("key", 4, 7)} {
			_, duplicate, err := f.Submit(t.Context(), other)
			if err == nil {
				t.Errorf("%s, other work under the key was answered as known job (duplicate %v)", when, duplicate)
				continue
			}
			if e := refusal(t, err); e.Problem != api.Invalid || !strings.Contains(e.Subject, `"key"`) || !strings.Contains(e.What, want) || e.Next == "" {
				t.Errorf("%s: %v", when, err)
			}
		}
	}
	w.submit(f, sleeps("key", 4, 0))
	again("unfinished")
	f = w.restartFrontend(f)
	again("unfinished, after a restart")
	w.node(0, 4)
	w.done(f, "key")
	again("ended")
	f = w.restartFrontend(f)
	again("ended, after a restart")
	if n, ok := f.Metric(t, "pigeon_frontend_jobs_refused_total", "key"); !ok || n != 2 {
		t.Errorf("%v submissions are counted as refused for their key since the restart, want 2", n)
	}
}

// BenchmarkMemoryUntilRefusal submits jobs until the limit of bytes refuses one, and reports
// the heap next to the bytes that are counted.
func BenchmarkMemoryUntilRefusal(b *testing.B) {
	for _, c := range []struct {
		name               string
		tasks, size, limit int
	}{{"128MiB-payloads-100KiB", 10, 100 << 10, 128 << 20}, {"512MiB-payloads-100KiB", 10, 100 << 10, 512 << 20}, {"128MiB-payloads-64B", 1000, 64, 128 << 20}, {"512MiB-payloads-64B", 1000, 64, 512 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				w := newWorld(b)
				w.master()
				f := w.frontend(func(cfg *frontend.Config) { cfg.MaxBytes = int64(c.limit) })
				before := heap()
				jobs := 0
				for ; ; jobs++ {
					if _, _, err := f.Submit(b.Context(), messages(fmt.Sprint("job-", jobs), c.tasks, c.size)); err != nil {
						break
					}
				}
				b.ReportMetric(float64(jobs), "jobs")
				b.ReportMetric(float64(f.HeldBytes())/(1<<20), "counted-MiB")
				b.ReportMetric((heap()-before)/(1<<20), "heap-MiB")
				f.process.Stop()
			}
		})
	}
}

func heap() float64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc)
}
