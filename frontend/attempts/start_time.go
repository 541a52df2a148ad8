package attempts

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
func (a *attempts) startOf(report *wire.Item) startTime {
	if report.Started.IsZero() {
		return unknownStart // it never ran, or an earlier version of a node reports it
	}
	return a.startTime(report.Started)
}

// startAt returns the start time for the instant of a record, 0 for none.
func (a *attempts) startAt(began int64) startTime {
	if began == 0 {
		return unknownStart
	}
	return a.startTime(time.Unix(0, began))
}

// startTime returns the start time of an attempt that began at an instant. An instant before
// the submission, by a clock that is slow, counts as the submission.
func (a *attempts) startTime(began time.Time) startTime {
	after := began.Sub(time.UnixMicro(int64(a.submitted * 1e6))).Milliseconds()
	if after >= math.MaxUint32 {
		return unknownStart
	}
	return startTime(max(after, 0) + 1) //nolint:gosec // below the maximum
}

// unix returns the time in Unix seconds, 0 when it is unknown.
func (s startTime) unix(a *attempts) float64 {
	if s == unknownStart {
		return 0
	}
	return a.submitted + float64(s-1)/1000
}
