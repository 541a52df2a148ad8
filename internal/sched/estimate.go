package sched

// MaxEstimate is 13 days. It keeps the sums of estimates within an int64 for the queues that a cluster
// can have.
const MaxEstimate Time = 1 << 50

// EstimateOf returns the estimate that counts for a task, in the range that policies may add up: the
// stated one, or the cutoff where the submitter gave none.
func (p Params) EstimateOf(stated Time) Time {
	if stated <= 0 {
		stated = p.Cutoff
	}
	return BoundEstimate(stated)
}

// BoundEstimate puts the estimate of a task into the range that policies may add up.
func BoundEstimate(e Time) Time { return min(max(e, 1), MaxEstimate) }
