package sched

// MaxEstimate is 13 days. It keeps the sums of estimates within an int64 for the queues that a cluster
// can have.
const MaxEstimate Time = 1 << 50

// BoundEstimate puts the estimate of a task into the range that policies may add up.
func BoundEstimate(e Time) Time { return min(max(e, 1), MaxEstimate) }
