package usage

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// sum is the sum over jobs. Times are whole microseconds, so that it does not depend on the order
// or on the pieces in which jobs were added.
type sum struct {
	jobs, tasks, failed, attempts, again int64 // failed: tasks
	slot, lost                           int64
	started, wait, longest               int64       // of jobs of which a task is known to have started
	waits                                []waitCount // these jobs by the bucket of their wait, ascending
}

// waitCount is how many jobs have a wait in a bucket of api.WaitBucket.
type waitCount struct{ bucket, jobs int64 }

// sumColumns are selected for a sum, of a job or of jobs that were summed up, in the order of
// fields.
const (
	jobColumns = "1, tasks, failed, attempts, again, slot, lost, bucket >= 0, iif(bucket >= 0, wait, 0), iif(bucket >= 0, longest, 0), bucket"
	sumColumns = "jobs, tasks, failed, attempts, again, slot, lost, started, wait, longest, waits"
)

// fields are those of the columns except the last one.
func (s *sum) fields() []any {
	return []any{&s.jobs, &s.tasks, &s.failed, &s.attempts, &s.again, &s.slot, &s.lost, &s.started, &s.wait, &s.longest}
}

// add adds the sum over other jobs.
func (s *sum) add(o *sum) {
	s.jobs, s.tasks, s.failed = s.jobs+o.jobs, s.tasks+o.tasks, s.failed+o.failed
	s.attempts, s.again, s.slot, s.lost = s.attempts+o.attempts, s.again+o.again, s.slot+o.slot, s.lost+o.lost
	s.started, s.wait, s.longest = s.started+o.started, s.wait+o.wait, max(s.longest, o.longest)
	for _, w := range o.waits {
		s.count(w.bucket, w.jobs)
	}
}

// sumOf returns the sum over one job.
func sumOf(j *api.JobUsage) *sum {
	s := sum{
		jobs: 1, tasks: int64(j.Tasks), failed: int64(j.Failed), attempts: int64(j.Attempts), again: int64(j.Again),
		slot: micros(j.SlotSeconds), lost: micros(j.LostSeconds),
	}
	if j.Started {
		s.started, s.wait, s.longest = 1, micros(j.Wait), micros(j.LongestWait)
		s.count(int64(api.WaitBucket(j.Wait)), 1)
	}
	return &s
}

// since returns what is to be added to a sum that has the job as it was, for it to have the job as
// it is. Its longest wait is not shorter than it was.
func since(was, is *api.JobUsage) *sum {
	s, before := sumOf(is), sumOf(was)
	s.jobs, s.tasks, s.failed = s.jobs-before.jobs, s.tasks-before.tasks, s.failed-before.failed
	s.attempts, s.again, s.slot, s.lost = s.attempts-before.attempts, s.again-before.again, s.slot-before.slot, s.lost-before.lost
	s.started, s.wait = s.started-before.started, s.wait-before.wait
	for _, w := range before.waits {
		s.count(w.bucket, -w.jobs)
	}
	return s
}

func (s *sum) count(bucket, jobs int64) {
	if n := len(s.waits); n == 0 || s.waits[n-1].bucket < bucket { // as counts are kept
		s.waits = append(s.waits, waitCount{bucket, jobs})
		return
	}
	at, found := slices.BinarySearchFunc(s.waits, bucket, func(w waitCount, b int64) int { return cmp.Compare(w.bucket, b) })
	if !found {
		s.waits = slices.Insert(s.waits, at, waitCount{bucket: bucket})
	}
	if s.waits[at].jobs += jobs; s.waits[at].jobs == 0 {
		s.waits = slices.Delete(s.waits, at, at+1)
	}
}

// encodeWaits returns the counts of waits as they are kept: for each bucket its distance from the one
// before and its jobs.
func (s *sum) encodeWaits() []byte {
	b := make([]byte, 0, 3*len(s.waits)) // not nil, which would be NULL
	last := int64(0)
	for _, w := range s.waits {
		b = binary.AppendVarint(binary.AppendVarint(b, w.bucket-last), w.jobs)
		last = w.bucket
	}
	return b
}

// decodeWaits adds counts of waits as they are kept.
func (s *sum) decodeWaits(b []byte) error {
	bucket := int64(0)
	s.waits = slices.Grow(s.waits, len(b)/2) // each takes two bytes or more
	for len(b) > 0 {
		step, n := binary.Varint(b)
		jobs, m := binary.Varint(b[max(n, 0):])
		if n <= 0 || m <= 0 {
			return errors.New("the counts of waits in its sums are not readable: remove the file, and the history begins anew with what the journal has")
		}
		bucket, b = bucket+step, b[n+m:]
		s.count(bucket, jobs)
	}
	return nil
}

// totals is the sum over jobs that may have ended in different ways.
type totals struct {
	keys                         []string
	completed, failed, cancelled int64 // jobs
	sum
}

// addOf adds the sum over jobs that ended in the same way.
func (t *totals) addOf(state api.State, o *sum) {
	switch state {
	case api.StateCompleted:
		t.completed += o.jobs
	case api.StateFailed:
		t.failed += o.jobs
	case api.StateCancelled:
		t.cancelled += o.jobs
	}
	t.add(o)
}

func (t *totals) usage() api.UsageSum {
	u := api.UsageSum{
		Keys: t.keys, Jobs: t.jobs, Completed: t.completed, Failed: t.failed, Cancelled: t.cancelled,
		Tasks: t.tasks, FailedTasks: t.sum.failed, Attempts: t.attempts, Again: t.again, SlotSeconds: seconds(t.slot), LostSeconds: seconds(t.lost),
		Started: t.started, WaitSeconds: seconds(t.wait), LongestWait: seconds(t.longest),
	}
	for _, w := range t.waits {
		u.Buckets, u.Counts = append(u.Buckets, int32(w.bucket)), append(u.Counts, w.jobs) //nolint:gosec // of WaitBucket
	}
	return u
}
