package api

import (
	"math"
	"slices"
)

// Waits are counted in buckets whose bounds grow by 2 %, so that the quantiles of many frontends
// together are known to 1 % without their single values.
const bucketGrowth = 1.02

// WaitBucket returns the bucket of a wait in seconds: 0 up to a microsecond.
func WaitBucket(seconds float64) int32 {
	if !(seconds > 1e-6) {
		return 0
	}
	return int32(math.Ceil(math.Log(min(seconds, 1e9)*1e6) / math.Log(bucketGrowth)))
}

// waitOf returns the middle of a bucket.
func waitOf(bucket int32) float64 {
	if bucket <= 0 {
		return 0
	}
	return 1e-6 * math.Pow(bucketGrowth, float64(bucket)-0.5)
}

// WaitQuantile returns the wait that a share q of the jobs did not exceed, to 1 %; 0 without
// jobs.
func (s *UsageSum) WaitQuantile(q float64) float64 {
	var all int64
	for _, n := range s.Counts {
		all += n
	}
	rank := max(int64(math.Ceil(q*float64(all))), 1)
	for i, n := range s.Counts {
		if rank -= n; rank <= 0 {
			return min(waitOf(s.Buckets[i]), s.LongestWait)
		}
	}
	return 0
}

// Add adds the sum of other jobs.
func (s *UsageSum) Add(o *UsageSum) {
	s.Jobs, s.Completed, s.Failed, s.Cancelled = s.Jobs+o.Jobs, s.Completed+o.Completed, s.Failed+o.Failed, s.Cancelled+o.Cancelled
	s.Tasks, s.FailedTasks, s.Attempts, s.Again = s.Tasks+o.Tasks, s.FailedTasks+o.FailedTasks, s.Attempts+o.Attempts, s.Again+o.Again
	s.SlotSeconds, s.LostSeconds = s.SlotSeconds+o.SlotSeconds, s.LostSeconds+o.LostSeconds
	s.Started, s.WaitSeconds, s.LongestWait = s.Started+o.Started, s.WaitSeconds+o.WaitSeconds, max(s.LongestWait, o.LongestWait)
	for i := range min(len(o.Buckets), len(o.Counts)) {
		at, found := slices.BinarySearch(s.Buckets, o.Buckets[i])
		if !found {
			s.Buckets, s.Counts = slices.Insert(s.Buckets, at, o.Buckets[i]), slices.Insert(s.Counts, at, 0)
		}
		s.Counts[at] += o.Counts[i]
	}
}
