package sleep

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// BenchmarkNoLength measures a zero-length task, the one with which the scheduler's
// rate is measured.
func BenchmarkNoLength(b *testing.B) {
	s := New()
	defer s.Close()
	n := 0
	done := func(backend.Result) { n++ }
	t := task(1, 0)
	b.ReportAllocs()
	for b.Loop() {
		s.Start(t, done)
	}
}

// BenchmarkStartKill starts and kills one sleep among 100,000 others.
func BenchmarkStartKill(b *testing.B) {
	s := New()
	defer s.Close()
	done := func(backend.Result) {}
	for i := range 100_000 {
		s.Start(task(i, time.Hour+time.Duration(i*7919%100_003)), done)
	}
	t := task(200_000, time.Hour+50_000)
	b.ReportAllocs()
	for b.Loop() {
		s.Start(t, done)
		s.Kill(t.ID)
	}
}

// BenchmarkLateness sleeps 300 us repeatedly on an idle process and reports
// how late the end comes, with each alarm.
func BenchmarkLateness(b *testing.B) {
	for name, options := range map[string][]Option{"default": nil, "timer": {WithTimer()}} {
		b.Run(name, func(b *testing.B) {
			s := New(options...)
			defer s.Close()
			const length = 300 * time.Microsecond
			results := make(chan backend.Result)
			var late time.Duration
			for b.Loop() {
				s.Start(task(1, length), func(r backend.Result) { results <- r })
				r := <-results
				late += r.Finished.Sub(r.Started) - length
			}
			b.ReportMetric(float64(late.Microseconds())/float64(b.N), "us-late/op")
		})
	}
}
