package eagle

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/pigeon-sched/pigeon/internal/workload/tracetest"
)

// With 2 % reserved, the paper's share for Yahoo, thousands of probes wait at two workers. The
// order does not look at each of them for each that it serves.
func TestFewLooksAtALongQueue(t *testing.T) {
	const waiting, served = 5000, 1000
	random := rand.New(rand.NewPCG(1, 2))
	o := order{slack: 5}
	var q probing.Queue
	arrive := func() { q.Push(short(sched.Time(1+random.IntN(1000)), 1+random.Int32N(100))) }
	for range waiting {
		arrive()
	}
	o.search(&q) // the first summaries
	looks := 0
	for range served {
		i, n := o.search(&q)
		looks += n
		o.took(&q, i)
		q.Remove(i, i+1)
		arrive()
	}
	if each := looks / served; each > waiting/10 {
		t.Errorf("%d looks for each entry that is served of %d that wait, at most %d are expected", each, waiting, waiting/10)
	} else {
		t.Logf("%d looks for each entry that is served of %d that wait", each, waiting)
	}
}

// BenchmarkReserved measures what an event of a simulated cluster costs with 10 % of its workers
// reserved, and with 2 %.
func BenchmarkReserved(b *testing.B) {
	w, err := workload.Open(tracetest.Path(b, "ngo_90.tr"))
	if err != nil {
		b.Fatal(err)
	}
	if w, err = w.Classify(int64(sched.Second)).Resample(5000, 1, 120, 0.9); err != nil {
		b.Fatal(err)
	}
	for _, reserved := range []float64{0.1, 0.02} {
		b.Run(fmt.Sprint(reserved), func(b *testing.B) {
			var events uint64
			for b.Loop() {
				o, err := sim.Run(b.Context(), w.Simulated(), sim.Config{
					Policy: Policy(Defaults()), Params: sched.Params{Cutoff: sched.Second, Reserved: reserved},
					Groups: []int{120}, Frontends: 10, Delay: 500 * sched.Microsecond, Seed: 1,
				})
				if err != nil {
					b.Fatal(err)
				}
				events += o.Events
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
