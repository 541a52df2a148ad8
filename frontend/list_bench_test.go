package frontend_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// The requests of the verbs to a frontend with 100,000 unfinished tasks, in 100,000 jobs of
// one task, which wait at a master in the same process: a list of the newest, lists with
// filters that match none, and one job.
func BenchmarkStatus(b *testing.B) {
	const jobs, submitters = 100_000, 64
	w := newWorld(b)
	w.master()
	w.node(0, 1)
	f := w.frontend()
	turns := make(chan int)
	failed := make(chan error, submitters)
	for range submitters {
		go func() {
			var err error
			for i := range turns {
				if _, _, e := f.Submit(b.Context(), sleeps(fmt.Sprintf("job-%d", i), 1, time.Hour)); e != nil {
					err = e
				}
			}
			failed <- err
		}()
	}
	for i := range jobs {
		turns <- i
	}
	close(turns)
	for range submitters {
		if err := <-failed; err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		ask  func() error
	}{
		{"newest", func() error { _, err := f.Query(b.Context(), 20, "", api.JobFilter{}); return err }},
		{"page", func() error { _, err := f.Query(b.Context(), 1000, "", api.JobFilter{}); return err }},
		{"owner", func() error { _, err := f.Query(b.Context(), 20, "", api.JobFilter{Owner: "nobody"}); return err }},
		{"prefix", func() error { _, err := f.Query(b.Context(), 6, "", api.JobFilter{Prefix: "other"}); return err }},
		{"failed", func() error {
			_, err := f.Query(b.Context(), 20, "", api.JobFilter{States: []string{"failed"}})
			return err
		}},
		{"running", func() error {
			_, err := f.Query(b.Context(), 20, "", api.JobFilter{States: []string{"running"}})
			return err
		}},
		{"status", func() error { _, err := f.Status(b.Context(), "job-5"); return err }},
		{"explain", func() error { _, err := f.Explain(b.Context(), "job-5"); return err }},
		{"nodes", func() error { _, err := f.Nodes(b.Context()); return err }},
		{"shares", func() error { _, err := f.Shares(b.Context()); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := c.ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
