package measure

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/pigeon-sched/pigeon/internal/workload/tracetest"
)

func jobs(js ...workload.Job) *workload.Workload {
	for i := range js {
		js[i].Line = i + 1
	}
	return &workload.Workload{Name: "test", Jobs: js}
}

func job(arrival int64, durations ...int64) workload.Job {
	return workload.Job{Arrival: arrival, Durations: durations}
}

func TestClairvoyantByHand(t *testing.T) {
	tests := []struct {
		name    string
		workers int
		w       *workload.Workload
		want    []int64
	}{
		{"nothing", 2, jobs(), nil},
		{"one worker is preemptive shortest remaining work", 1,
			jobs(job(0, 10), job(2, 3), job(3, 1), job(4, 8)), []int64{14, 4, 1, 18}},
		{"enough workers: the longest task", 3, jobs(job(0, 5, 1), job(1, 9)), []int64{5, 9}},
		{"the longest task of a job goes first", 2, jobs(job(0, 2, 2, 4)), []int64{4}},
		{"no more workers than tasks", 4, jobs(job(0, 8), job(0, 9)), []int64{8, 9}},
		// B (10, one task) is ahead of A (5 tasks of 3), which gets the other
		// worker; they go down alike. At 10 A is in its fourth task and starts
		// its fifth on B's worker.
		{"the rest goes to the next job", 2, jobs(job(0, 3, 3, 3, 3, 3), job(0, 10)), []int64{13, 10}},
		// A on 2 of 3 workers falls by 2, B by 1: 9 - 2t <= 7 - t at t = 2.
		// A then runs its 3 tasks, with 3, 1 and 1 left; B waits until two of them
		// end at 3 and has 5 left.
		{"the faster job overtakes", 3, jobs(job(0, 3, 3, 3), job(0, 7)), []int64{5, 8}},
		{"tasks of length 0", 1, jobs(job(0, 0, 0), job(0, 2), job(1, 0)), []int64{0, 2, 0}},
		{"all at once", 1, jobs(job(5, 3), job(5, 2), job(5, 1)), []int64{6, 3, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Clairvoyant(tt.w, tt.workers); !slices.Equal(got, tt.want) {
				t.Errorf("completion times %v, want %v", got, tt.want)
			}
		})
	}
}

// dumb is one job of the dumb schedule: the rest of each task, and which run.
type dumb struct {
	index   int
	arrival int64
	left    []int64
	runs    []bool
}

func (d *dumb) work() (sum int64) {
	for _, l := range d.left {
		sum += l
	}
	return sum
}

func (d *dumb) rate() (n int64) {
	for _, r := range d.runs {
		if r {
			n++
		}
	}
	return n
}

// allot makes n tasks run: it stops the shortest or starts the longest.
func (d *dumb) allot(n int64) {
	for d.rate() != n {
		pick := -1
		for k, l := range d.left {
			stop := d.rate() > n
			if d.runs[k] == stop && (pick < 0 || (stop && l < d.left[pick]) || (!stop && l > d.left[pick])) {
				pick = k
			}
		}
		d.runs[pick] = !d.runs[pick]
	}
}

// dumbClairvoyant follows the definition without any structure: sort, give
// out the workers, go to the next moment at which anything may change.
func dumbClairvoyant(w *workload.Workload, workers int) []int64 {
	took := make([]int64, len(w.Jobs))
	var alive []*dumb
	now, next := int64(0), 0
	for next < len(w.Jobs) || len(alive) > 0 {
		for next < len(w.Jobs) && w.Jobs[next].Arrival <= now {
			j := w.Jobs[next]
			alive = append(alive, &dumb{next, j.Arrival, slices.Clone(j.Durations), make([]bool, len(j.Durations))})
			next++
		}
		slices.SortStableFunc(alive, func(a, b *dumb) int {
			return cmp.Or(cmp.Compare(a.work(), b.work()), -cmp.Compare(a.rate(), b.rate()), cmp.Compare(a.index, b.index))
		})
		free, step := int64(workers), int64(math.MaxInt64)
		if next < len(w.Jobs) {
			step = w.Jobs[next].Arrival - now
		}
		for i, d := range alive {
			n := min(free, int64(len(d.left)))
			d.allot(n)
			free -= n
			for k, l := range d.left {
				if d.runs[k] {
					step = min(step, l)
				}
			}
			for _, ahead := range alive[:i] {
				if closing := n - ahead.rate(); closing > 0 {
					step = min(step, max(1, (d.work()-ahead.work()+closing-1)/closing))
				}
			}
		}
		now += step
		for _, d := range alive {
			for k := len(d.left) - 1; k >= 0; k-- {
				if d.runs[k] {
					d.left[k] -= step
				}
				if d.runs[k] && d.left[k] == 0 {
					d.left, d.runs = slices.Delete(d.left, k, k+1), slices.Delete(d.runs, k, k+1)
				}
			}
			if len(d.left) == 0 {
				took[d.index] = now - d.arrival
			}
		}
		alive = slices.DeleteFunc(alive, func(d *dumb) bool { return len(d.left) == 0 })
	}
	return took
}

// drawWorkload draws durations of many bits, so that ties, which the two
// schedules may break differently, do not occur.
func drawWorkload(t *rapid.T) (*workload.Workload, int) {
	workers := rapid.IntRange(1, 8).Draw(t, "workers")
	w := jobs()
	at := int64(0)
	for range rapid.IntRange(1, 12).Draw(t, "jobs") {
		at += rapid.Int64Range(0, 1<<40).Draw(t, "gap")
		tasks := rapid.SliceOfN(rapid.Int64Range(1, 1<<40), 1, 7).Draw(t, "durations")
		for i := range tasks { // far apart even when rapid draws small numbers
			tasks[i] += int64(len(w.Jobs)*1000+i*31) * 7919
		}
		w.Jobs = append(w.Jobs, job(at, tasks...))
		at += 1
	}
	return w, workers
}

func TestClairvoyantAgreesWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, workers := drawWorkload(t)
		got, want := Clairvoyant(w, workers), dumbClairvoyant(w, workers)
		for i := range want {
			// Catching up is rounded up to a ns, which may happen a few times.
			if d := got[i] - want[i]; d > 64 || d < -64 {
				t.Fatalf("job %d takes %d, by the definition %d\ngot  %v\nwant %v", i, got[i], want[i], got, want)
			}
		}
	})
}

// seen is a ScheduleWatcher that adds up the reported times.
type seen struct {
	at       int64
	held     map[int][2]int // workers and unstarted tasks by job
	busy     int
	most     int   // workers at once, over instants that last
	work     int64 // workers x ns
	backward bool
}

func (s *seen) Holds(at int64, job, workers, unstarted int) {
	if at > s.at {
		s.work += int64(s.busy) * (at - s.at)
		s.most = max(s.most, s.busy)
	}
	s.backward = s.backward || at < s.at
	s.busy += workers - s.held[job][0]
	s.at, s.held[job] = at, [2]int{workers, unstarted}
}

// The times reported to the watcher add up to the work of the jobs, on no more workers
// than there are, and in the end no task runs or has never run.
func TestClairvoyantWatched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, workers := drawWorkload(t)
		s := &seen{held: map[int][2]int{}}
		ClairvoyantWatched(w, workers, s)
		var work int64
		for i := range w.Jobs {
			work += w.Jobs[i].Work()
			if s.held[i] != [2]int{} {
				t.Fatalf("in the end job %d holds %v", i, s.held[i])
			}
		}
		if s.work != work || s.most > workers || s.backward {
			t.Fatalf("%d of work seen, want %d; %d workers at once, of %d; backward %v", s.work, work, s.most, workers, s.backward)
		}
	})
}

// Two tasks on one worker, and a shorter job in between: the first task is suspended,
// which is no longer "never run", the second waits until it starts.
func TestClairvoyantTellsWhatNeverRan(t *testing.T) {
	w := jobs(job(0, 10, 4), job(3, 1))
	var reported [][4]int64
	ClairvoyantWatched(w, 1, reported4(func(x [4]int64) { reported = append(reported, x) }))
	want := [][4]int64{{0, 0, 1, 1}, {3, 0, 0, 1}, {3, 1, 1, 0}, {4, 1, 0, 0}, {4, 0, 1, 1}, {11, 0, 0, 1}, {11, 0, 1, 0}, {15, 0, 0, 0}}
	if !slices.Equal(reported, want) {
		t.Errorf("reported %v, want %v", reported, want)
	}
}

type reported4 func([4]int64)

func (f reported4) Holds(at int64, job, workers, unstarted int) {
	f([4]int64{at, int64(job), int64(workers), int64(unstarted)})
}

func TestClairvoyantKeepsItsSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, workers := drawWorkload(t)
		took := Clairvoyant(w, workers)
		var work, last int64
		for i := range w.Jobs {
			j := &w.Jobs[i]
			work += j.Work()
			last = max(last, j.Arrival+took[i])
			if took[i] < j.Longest() {
				t.Fatalf("job %d takes %d, its longest task %d", i, took[i], j.Longest())
			}
		}
		if span := last - w.Jobs[0].Arrival; span*int64(workers) < work {
			t.Fatalf("%d workers did %d of work in %d", workers, work, span)
		}
	})
}

func TestClairvoyantTimesOfATrace(t *testing.T) {
	w, err := workload.Open(tracetest.Path(t, "ngo_90.tr"))
	if err != nil {
		t.Fatal(err)
	}
	w = w.Classify(1e9)
	bound := ClairvoyantTimes(w, 120)
	t.Logf("ngo_90 on 120 workers: short %+v, long %+v", bound.Short, bound.Long)
	// Short jobs are far below the work of most long ones, so they hardly wait.
	if bound.Short.P50 > 0.36 || bound.Short.P99 > 1.8 {
		t.Errorf("short p50 %.3f, p99 %.3f s, want about their longest task", bound.Short.P50, bound.Short.P99)
	}
	// One group of 120 under pigeon: 197.6 s.
	if bound.Long.P50 > 197.6 {
		t.Errorf("long p50 %.1f s, above that of a policy", bound.Long.P50)
	}
}

func BenchmarkClairvoyant(b *testing.B) {
	w, err := workload.Open("gen:uniform,jobs=10000,fanout=31,workers=5000,load=0.95,mean=1000s,spread=0.9")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Clairvoyant(w, 5000)
	}
	b.ReportMetric(float64(w.Tasks())*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}
