package cluster

import "github.com/pigeon-sched/pigeon/internal/childproc"

// Usage is what all daemons of a cluster used since their start. RSSMax is the sum
// of their peaks.
type Usage struct {
	childproc.Usage
	// Shared reports whether the daemons share this process, so that CPU and RSSMax
	// include whatever else it did.
	Shared bool
}

// Since returns what was used after an earlier reading. Memory stays the peak.
func (u Usage) Since(earlier Usage) Usage {
	u.CPU -= earlier.CPU
	return u
}

// OwnUsage returns the usage of this process.
func OwnUsage() (Usage, error) {
	u, err := childproc.OwnUsage()
	return Usage{u, true}, err
}
