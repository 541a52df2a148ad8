package pagetest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/webpage"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// overThrift is a made-up cluster whose calls go over Thrift, like those of a frontend to its
// masters.
type overThrift struct {
	wire.Scheduler // panics where the page calls nothing

	*made
}

func (o overThrift) Nodes(ctx context.Context) ([]api.MasterState, error) { return o.made.Nodes(ctx) }

func (o overThrift) List(ctx context.Context, limit int, after string) ([]api.Status, error) {
	return o.made.List(ctx, limit, after)
}

func (o overThrift) Query(ctx context.Context, limit int, after string, _ api.JobFilter) ([]api.Status, error) {
	return o.made.List(ctx, limit, after)
}

func (o overThrift) Status(ctx context.Context, job string) (api.Status, error) {
	return o.made.Status(ctx, job)
}

func (o overThrift) Explain(ctx context.Context, job string) (*api.Explanation, error) {
	return o.made.Explain(ctx, job)
}

func (o overThrift) TaskLog(ctx context.Context, r wire.LogRequest) (wire.LogChunk, error) {
	return o.made.TaskLog(ctx, r)
}

func (o overThrift) Shares(ctx context.Context) (api.OwnerShares, error) { return o.made.Shares(ctx) }

// otherOverThrift is another frontend of that cluster, with as many jobs.
type otherOverThrift struct{ *wire.SchedulerClient }

func (otherOverThrift) Page() string { return "http://127.0.0.1:1/" }
func (otherOverThrift) Close()       {}

// spent returns the processor time of this process.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkViewer measures what viewers of 1,000 nodes with 4 slots, all of which change all the
// time, and of 10,000 jobs, here and at each of the other frontends, cost: the processor time of reading them over Thrift, of both ends, and
// of sending what changed, in percent of one processor. One round is one event, a second or more.
//
//	go test ./pagetest -run '^$' -bench Viewer -benchtime 20x
func BenchmarkViewer(b *testing.B) {
	for _, c := range []struct{ viewers, others int }{{0, 0}, {1, 0}, {4, 0}, {0, 10}, {1, 10}} {
		viewers := c.viewers
		b.Run(fmt.Sprintf("%d/others=%d", viewers, c.others), func(b *testing.B) {
			m := &made{groups: 10, nodes: 100, slots: 4, others: c.others}
			for i := range 10_000 {
				m.jobs = append(m.jobs, api.Status{Job: fmt.Sprintf("job-%05d", i), State: api.StateRunning, Class: "short", Tasks: 4, Owner: owners[i%3], Submitter: "alice"})
			}
			s, err := server.New(wire.SchedulerProcessor(overThrift{made: m}), server.Options{Name: "frontend", Address: "127.0.0.1:0", MaxFrame: wire.MaxBatchBytes})
			if err == nil {
				err = s.Listen()
			}
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()
			b.Cleanup(func() { stop(); <-ended })
			pool, err := client.New(client.Options{Name: "frontend", Address: s.Addr().String(), MaxFrame: wire.MaxBatchBytes, CallTimeout: time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = pool.Close() })
			address := servedWith(b, wire.NewSchedulerClient(pool), func(string, string) (webpage.Other, error) {
				return otherOverThrift{wire.NewSchedulerClient(pool)}, nil
			})
			streams := make([]*bufio.Reader, viewers)
			for i := range streams {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address+"page/events", nil)
				if err != nil {
					b.Fatal(err)
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = answer.Body.Close() })
				streams[i] = bufio.NewReaderSize(answer.Body, 4<<20)
			}
			next := func() {
				for _, in := range streams {
					for line := ""; !strings.HasPrefix(line, "data: "); {
						if line, err = in.ReadString('\n'); err != nil {
							b.Fatal(err)
						}
					}
				}
				if viewers == 0 {
					<-time.After(time.Second)
				}
			}
			next() // everything
			before := spent(b)
			for b.Loop() {
				next()
			}
			b.ReportMetric(100*float64(spent(b)-before)/float64(b.Elapsed()), "%cpu")
			b.ReportMetric(float64(m.turn), "reads")
		})
	}
}
