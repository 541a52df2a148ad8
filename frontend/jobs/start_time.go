package jobs

import (
	"math"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// startTime is when an attempt began: milliseconds after the submission of its job, plus 1. It is
// small because there is one for each task; it ends after 49 days, and the time of a later
// beginning is unknown.
type startTime uint32

// unknownStart is the zero value.
const unknownStart startTime = 0

// startOf returns when the attempt of a report began, by the clock of its node.
func startOf(j *Job, report *wire.Item) startTime {
	if report.Started.IsZero() {
		return unknownStart // it never ran, or an earlier version of a node reports it
	}
	return startTimeOf(j, report.Started)
}

// startTimeOf returns the start time of an attempt that began at an instant. An instant before
// the submission, by a clock that is slow, counts as the submission.
func startTimeOf(j *Job, began time.Time) startTime {
	after := began.Sub(submitted(j)).Milliseconds()
	if after >= math.MaxUint32 {
		return unknownStart
	}
	return startTime(max(after, 0) + 1) //nolint:gosec // below the maximum
}

// unix returns the time in Unix seconds, 0 when it is unknown.
func (s startTime) unix(j *Job) float64 {
	if s == unknownStart {
		return 0
	}
	return j.Status.Submitted + float64(s-1)/1000
}

func submitted(j *Job) time.Time { return time.UnixMicro(int64(j.Status.Submitted * 1e6)) }
