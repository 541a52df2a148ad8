package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkFsync measures one append and fsync on this disk, as a reference for the
// other benchmarks.
func BenchmarkFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	must(b, err)
	block := make([]byte, 512)
	for b.Loop() {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
		must(b, f.Sync())
	}
	must(b, f.Close())
}

// inFlight runs one repeatedly from n goroutines, b.N times in all.
func inFlight(b *testing.B, n int, one func(i int) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
				if err := one(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func perSecond(b *testing.B, what string, each int) {
	b.ReportMetric(float64(b.N*each)/b.Elapsed().Seconds(), what+"/s")
}

// BenchmarkAccept accepts jobs from 64 submitters that wait for the disk.
func BenchmarkAccept(b *testing.B) {
	for _, tasks := range []int{1, 100} {
		b.Run(fmt.Sprintf("tasks=%d", tasks), func(b *testing.B) {
			j, _, _ := open(b, b.TempDir(), Options{})
			b.ReportAllocs()
			b.ResetTimer()
			inFlight(b, 64, func(i int) error { return appendWait(j, accept(fmt.Sprint(i), tasks)) })
			b.StopTimer()
			perSecond(b, "jobs", 1)
			must(b, j.Close())
		})
	}
}

// BenchmarkTaskEnds appends results as a frontend does: single ones from many
// nodes, 64 waiting at a time, and in reports of 20.
func BenchmarkTaskEnds(b *testing.B) {
	for _, batch := range []int{1, 20} {
		b.Run(fmt.Sprintf("report=%d", batch), func(b *testing.B) {
			j, _, _ := open(b, b.TempDir(), Options{})
			for i := range 256 {
				must(b, j.Append([]Record{accept(fmt.Sprint(i), 100)}, nil))
			}
			b.ReportAllocs()
			b.ResetTimer()
			inFlight(b, 64, func(i int) error {
				recs := make([]Record, batch)
				for k := range recs {
					recs[k] = taskEnd(fmt.Sprint((i+k)%256), i%100)
				}
				return appendWait(j, recs...)
			})
			b.StopTimer()
			perSecond(b, "ends", batch)
			must(b, j.Close())
		})
	}
}

// BenchmarkLife appends the records of single-task jobs: accepted, placed, task and job
// ended, 64 at a time, and reports how large the journal has become.
func BenchmarkLife(b *testing.B) {
	j, _, _ := open(b, b.TempDir(), Options{})
	b.ResetTimer()
	inFlight(b, 64, func(i int) error {
		key := fmt.Sprint(i)
		if err := appendWait(j, accept(key, 1)); err != nil {
			return err
		}
		if err := j.Append([]Record{{Kind: Placed, Job: jobID(key), Count: 1, Attempt: 1}}, nil); err != nil {
			return err
		}
		return appendWait(j, taskEnd(key, 0), jobEnd(key, time.Now()))
	})
	b.StopTimer()
	perSecond(b, "jobs", 1)
	used, _, err := j.store.Space()
	must(b, err)
	b.ReportMetric(float64(used)/float64(b.N), "disk-B/job")
	must(b, j.Close())
}

// BenchmarkRecover reads a million unfinished tasks back. Closing a journal
// flushes nothing, so this is what a restart after a crash does as well.
func BenchmarkRecover(b *testing.B) {
	for _, c := range []struct{ jobs, tasks int }{{10_000, 100}, {1_000_000, 1}} {
		b.Run(fmt.Sprintf("jobs=%d,tasks=%d", c.jobs, c.tasks), func(b *testing.B) {
			dir := b.TempDir()
			fill(b, dir, c.jobs, c.tasks)
			var before, after runtime.MemStats
			for b.Loop() {
				b.StopTimer()
				copied := b.TempDir()
				must(b, os.CopyFS(filepath.Join(copied, "j"), os.DirFS(dir)))
				runtime.GC()
				runtime.ReadMemStats(&before)
				b.StartTimer()
				n := 0
				j, rep, err := Open(filepath.Join(copied, "j"), Options{}, func(job *Job) error { n += len(job.Events); return nil })
				must(b, err)
				b.StopTimer()
				runtime.GC()
				runtime.ReadMemStats(&after)
				if rep.Tasks != c.jobs*c.tasks || n != c.jobs {
					b.Fatalf("%v, %d records", rep, n)
				}
				must(b, j.Close())
				b.StartTimer()
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-kept")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/recovery")
		})
	}
}

// fill makes a journal in which each job is accepted and placed.
func fill(b *testing.B, dir string, jobs, tasks int) {
	work := b.TempDir()
	j, _, _ := open(b, work, Options{NoSync: true})
	for i := range jobs {
		key := fmt.Sprint(i)
		recs := []Record{accept(key, tasks), {Kind: Placed, Job: jobID(key), Count: int32(tasks), Attempt: 1}}
		if i%1000 == 999 {
			must(b, appendWait(j, recs...))
			continue
		}
		must(b, j.Append(recs, nil))
	}
	must(b, appendWait(j, Record{Kind: AppAt, App: "a", Socket: "s"}))
	must(b, j.Close())
	must(b, os.CopyFS(dir, os.DirFS(work)))
}
