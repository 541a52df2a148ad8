package usage

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// benchJobs are in the history of the benchmarks.
const benchJobs = 1_000_000

func benchJob(i int) *api.JobUsage {
	r := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // the same jobs each time
	return job(fmt.Sprintf("01K%023d", i), 0, func(j *api.JobUsage) {
		j.Ended = began - float64(benchJobs-i)*0.1
		j.Submitted = j.Ended - 60*r.Float64()
		j.Owner, j.Name, j.Wait = fmt.Sprint("team", r.IntN(5), "/user", r.IntN(20)), fmt.Sprint("work ", r.IntN(50)), r.ExpFloat64()
		if r.IntN(10) == 0 {
			j.Class, j.State = "long", api.StateFailed
		}
	})
}

// fill returns a keeper with that many jobs. It adds them as fast as they are written.
func fill(b *testing.B, jobs int) *kept {
	b.Helper()
	k := start(b, filepath.Join(b.TempDir(), "history"), func(o *Options) {
		o.Limit, o.Retention, o.Log = benchJobs, 1000*time.Hour, slog.New(slog.DiscardHandler)
	})
	for i := range jobs {
		k.Add(benchJob(i))
		if i%(queued/2) == queued/2-1 {
			k.ask(b, api.HistoryQuery{Limit: 1})
		}
	}
	if p := k.ask(b, api.HistoryQuery{Limit: 1}); p.Kept != int64(jobs) || p.Dropped != 0 {
		b.Fatalf("%d of %d are kept, %d dropped", p.Kept, jobs, p.Dropped)
	}
	return k
}

// BenchmarkAdd is what a job that ended costs the goroutine that schedules.
func BenchmarkAdd(b *testing.B) {
	k := New(Options{Retention: time.Hour})
	j := job("a", 0)
	b.ReportAllocs()
	for b.Loop() {
		k.Add(j)
		if len(k.queue) == queued {
			for len(k.queue) > 0 {
				<-k.queue
			}
		}
	}
}

// BenchmarkWrite writes a million jobs.
func BenchmarkWrite(b *testing.B) {
	for b.Loop() {
		began := time.Now()
		k := fill(b, benchJobs)
		b.ReportMetric(float64(time.Since(began).Nanoseconds())/benchJobs, "ns/job")
		k.stop()
	}
}

// BenchmarkDayOfAMillionJobs queries a history of a million jobs, which ended within a day and four
// hours: each query by another key, and as pages.
func BenchmarkDayOfAMillionJobs(b *testing.B) {
	k := fill(b, benchJobs)
	for _, c := range []struct {
		name string
		q    api.HistoryQuery
	}{
		{"by owner and class", api.HistoryQuery{By: []string{api.ByOwner, api.ByClass}}},
		{"by class", api.HistoryQuery{By: []string{api.ByClass}}},
		{"the last hour by owner", api.HistoryQuery{Since: began - 3600, By: []string{api.ByOwner}}},
		{"the last day by owner", api.HistoryQuery{Since: began - 86400, By: []string{api.ByOwner}}},
		{"by name", api.HistoryQuery{By: []string{api.ByName}}},
		{"an owner by day", api.HistoryQuery{Owner: "team1", By: []string{api.ByDay}}},
		{"the last 20", api.HistoryQuery{Limit: 20, Descending: true}},
		{"one job", api.HistoryQuery{Job: "01K00000000000000000500000"}},
		{"a page of 1000", api.HistoryQuery{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				k.ask(b, c.q)
			}
		})
	}
}
