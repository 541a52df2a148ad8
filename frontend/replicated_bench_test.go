package frontend_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

// BenchmarkAcceptance measures how soon and how fast jobs are accepted, over Thrift, by a frontend
// with a local journal and by one whose journal is in a stream with three replicas, on three
// servers on this machine that sync each write:
//
//	go test ./frontend -run '^$' -bench Acceptance -benchtime 2000x
//
// alone: one job after the other; together: from 64 clients at once.
func BenchmarkAcceptance(b *testing.B) {
	for _, kind := range []string{"local", "replicated"} {
		for _, clients := range []int{1, 64} {
			name := map[int]string{1: "alone", 64: "together"}[clients]
			b.Run(kind+"/"+name, func(b *testing.B) {
				c := natsservertest.Start(b, 3, func(o *natsserver.Options) { o.MaxStore = 512 << 20 })
				w := &shared{&world{t: b, natsURL: c.URL()}, c.URL()}
				w.master()
				f := w.leads(w.begin(func(c *frontend.Config) {
					c.NATSReplicas, c.JournalBytes = 3, 128<<20
					if kind == "local" {
						c.Journal, c.Leadership = "local", "none"
					}
				}))
				accept(b, f, clients)
			})
		}
	}
}

// accept submits b.N jobs of one task, from that many clients.
func accept(b *testing.B, f *frontOf, clients int) {
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	began := time.Now()
	for range clients {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				at := time.Now()
				if _, _, err := f.Submit(b.Context(), sleeps(fmt.Sprint("job-", i), 1, 0)); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(at)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "jobs/s")
	b.ReportMetric(float64(took[b.N/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "ms-p99")
	b.ReportMetric(0, "ns/op")
}
