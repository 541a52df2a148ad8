package journal

import (
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var (
	errClass    = errors.New("it names a class that does not exist")
	errOutcome  = errors.New("it names an outcome that does not exist")
	errPayloads = errors.New("its payloads do not fit its tasks")
)

// encodeEvent appends a record about a job. The job itself is not written: the
// key under which the bytes are stored names it.
func encodeEvent(b []byte, e *Record) []byte {
	b = append(b, byte(e.Kind))
	switch e.Kind {
	case Placed, Moved:
		b = putUint(putUint(b, uint64(e.First)), uint64(e.Count))
		b = putUint(putUint(b, uint64(e.Attempt)), uint64(e.Group))
	case NewAttempt:
		b = putUint(putUint(b, uint64(e.First)), uint64(e.Attempt))
		b = putString(append(b, e.Losses, e.Retries, byte(e.Outcome)), e.Reason)
	case TaskEnded:
		b = putUint(putUint(b, uint64(e.First)), uint64(e.Attempt))
		b = putString(append(b, byte(e.Outcome)), e.Reason)
		b = putInt(putInt(b, int64(e.Elapsed)), e.At)
	case Reclassed:
		b = append(b, byte(e.Class))
	case Cancelled:
		b = putInt(putString(b, e.Reason), e.At)
	}
	return b
}

// decodeEvents appends to list the records of one value about the given job.
func decodeEvents(list []Record, job sched.JobID, v []byte) ([]Record, error) {
	r := reader{s: string(v)}
	r.version()
	for r.s != "" && r.err == nil {
		e := Record{Kind: Kind(r.byte()), Job: job}
		switch e.Kind {
		case Placed, Moved:
			e.First, e.Count, e.Attempt, e.Group = r.int32(), r.int32(), r.int32(), r.int32()
		case NewAttempt:
			e.First, e.Attempt, e.Losses, e.Retries = r.int32(), r.int32(), r.byte(), r.byte()
			e.Outcome, e.Reason = r.outcome(), r.string()
		case TaskEnded:
			e.First, e.Attempt, e.Outcome, e.Reason = r.int32(), r.int32(), r.outcome(), r.string()
			e.Elapsed, e.At = time.Duration(r.int()), r.int()
		case Reclassed:
			e.Class = r.class()
		case Cancelled:
			e.Reason, e.At = r.string(), r.int()
		default:
			r.fail(fmt.Errorf("it holds a record of kind %d, which does not exist", e.Kind))
		}
		list = append(list, e)
	}
	return list, r.end()
}

func (r *reader) outcome() sched.Outcome {
	o := sched.Outcome(r.byte())
	if o > sched.Yielded {
		r.fail(errOutcome)
		return 0
	}
	return o
}

func (r *reader) class() sched.Class {
	c := sched.Class(r.byte())
	if c >= sched.NumClasses {
		r.fail(errClass)
		return 0
	}
	return c
}

func encodeEnded(b []byte, e *Ended) []byte {
	b = putInt(putString(putJobID(append(b, codecVersion), e.Job), e.Key), e.At)
	s := &e.Status
	for _, w := range [...]string{s.Job, s.App, string(s.State), s.Class, s.Reason} {
		b = putString(b, w)
	}
	for _, n := range [...]int{s.Tasks, s.Running, s.Completed, s.Failed, s.Attempts} {
		b = putUint(b, uint64(max(n, 0)))
	}
	return putFloat(putFloat(putFloat(b, s.Submitted), s.Ended), s.Seconds)
}

func decodeEnded(v []byte) (*Ended, error) {
	r := reader{s: string(v)}
	r.version()
	e := &Ended{Job: r.jobID(), Key: r.string(), At: r.int()}
	e.Status = api.Status{Job: r.string(), App: r.string(), State: api.State(r.string()), Class: r.string(), Reason: r.string(),
		Tasks: int(r.int32()), Running: int(r.int32()), Completed: int(r.int32()), Failed: int(r.int32()), Attempts: int(r.int32()),
		Submitted: r.float(), Ended: r.float(), Seconds: r.float()}
	return e, r.end()
}
