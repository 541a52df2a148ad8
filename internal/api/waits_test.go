package api_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// TestWaitQuantiles: the quantiles of sums of several frontends are those of all waits together,
// to one per cent.
func TestWaitQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waits := rapid.SliceOfN(rapid.Float64Range(1e-5, 1e6), 1, 60).Draw(t, "waits")
		var sums [3]api.UsageSum
		for i, w := range waits {
			sums[i%3].Add(&api.UsageSum{Jobs: 1, Started: 1, WaitSeconds: w, LongestWait: w, Buckets: []int32{api.WaitBucket(w)}, Counts: []int64{1}})
		}
		all := sums[0]
		all.Add(&sums[1])
		all.Add(&sums[2])
		slices.Sort(waits)
		for _, q := range []float64{0.01, 0.5, 0.99, 1} {
			want := waits[max(int(math.Ceil(q*float64(len(waits)))), 1)-1]
			if got := all.WaitQuantile(q); math.Abs(got-want) > 0.0101*want {
				t.Fatalf("quantile %v of %v is %v, want %v", q, waits, got, want)
			}
		}
		if all.Jobs != int64(len(waits)) || !slices.IsSorted(all.Buckets) {
			t.Fatalf("%+v", all)
		}
	})
	if got := new(api.UsageSum).WaitQuantile(0.5); got != 0 {
		t.Errorf("without jobs it is %v", got)
	}
	if api.WaitBucket(0) != 0 || api.WaitBucket(math.NaN()) != 0 || api.WaitBucket(math.Inf(1)) != api.WaitBucket(1e9) {
		t.Error("the ends of the scale")
	}
}
