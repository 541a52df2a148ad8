package journal

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// lastSpan is the age of the oldest ended jobs that LastEnded looks at first. It looks further
// back while it has found too few, so that it need not read all that the journal keeps.
const lastSpan = 10 * time.Second

// endedAt is an ended job and the age of the journal at its end.
type endedAt struct {
	at  int64
	job sched.JobID
}

// LastEnded calls visit with the jobs that ended last, at most that many, in the order of
// their ends, and with how long ago each has ended, by the time that the journal was open.
func (j *Journal) LastEnded(most int, visit func(e *Ended, ago time.Duration)) error {
	j.reading.RLock()
	defer j.reading.RUnlock()
	if j.storeClosed {
		return errClosed
	}
	now, expired := j.ended.age.now(), j.ended.expired()
	var found []endedAt
	for span := int64(lastSpan); ; span *= 8 {
		from := max(now-span, expired, 0)
		var err error
		if found, err = j.ended.since(from, most); err != nil {
			return j.ended.fault("reading which jobs ended last", err)
		}
		if len(found) == most || from == max(expired, 0) {
			break
		}
	}
	for _, f := range found {
		e, err := j.ended.read(f.job)
		if err != nil {
			return j.ended.fault("reading the jobs that ended last", err)
		}
		if e != nil && max(e.At, 0) == f.at && !j.queue.isLive(f.job) {
			if err := j.ended.readStopped(e); err != nil {
				return j.ended.fault("reading the jobs that ended last", err)
			}
			visit(e, time.Duration(now-e.At))
		}
	}
	return nil
}

// since returns the last of the jobs that ended at an age or later, at most that many, in the
// order of their ends.
func (e *endedJobs) since(age int64, most int) (found []endedAt, err error) {
	err = e.store.Scan(expiryKey(nil, age, sched.JobID{}), []byte{prefixExpiry + 1}, func(key, _ []byte) error {
		if at, job, ok := parseExpiry(key); ok {
			if len(found) == 2*most {
				found = found[:copy(found, found[most:])]
			}
			found = append(found, endedAt{at, job})
		}
		return nil
	})
	return found[max(0, len(found)-most):], err
}
