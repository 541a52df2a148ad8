package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// reading is the state of reading the journal back: the job at hand, which is
// complete when the next one starts.
type reading struct {
	j     *Journal
	rep   *Report
	visit func(*Job) error
	job   Job
	live  *liveJob
	seen  []string // the first jobs, for the error of a damaged journal
}

// readJobs returns every unfinished job to visit.
func (j *Journal) readJobs(rep *Report, visit func(*Job) error) error {
	it, err := j.db.NewIter(&pebble.IterOptions{LowerBound: []byte{prefixJob}, UpperBound: []byte{prefixJob + 1}})
	if err != nil {
		return folderErr(j.dir, "reading the jobs", err)
	}
	r := &reading{j: j, rep: rep, visit: visit}
	var fault error // of the content
	for ok := it.First(); ok && err == nil && fault == nil; ok = it.Next() {
		var v []byte
		if v, fault = it.ValueAndErr(); fault != nil {
			break
		}
		if len(it.Key()) == jobKeyLen {
			if err = r.finish(); err == nil {
				fault = r.start(it.Key(), v)
			}
			continue
		}
		fault = r.events(it.Key(), v)
	}
	if bad := errors.Join(fault, it.Error(), it.Close()); bad != nil {
		return j.damage(bad, r.seen)
	}
	if err != nil {
		return err
	}
	return r.finish()
}

// start begins a job.
func (r *reading) start(key, value []byte) error {
	s, err := decodeSubmission(value)
	if err != nil {
		return fmt.Errorf("the submission under %x: %w", key, err)
	}
	r.live = &liveJob{seq: binary.BigEndian.Uint64(key[1:]), stored: true}
	r.j.live[s.Job] = r.live
	r.job.Submission = s
	if len(r.seen) <= shownJobs {
		r.seen = append(r.seen, describe(s.Job, s.Request.Key))
	}
	return nil
}

// events adds one bundle of records to the job at hand.
func (r *reading) events(key, value []byte) error {
	if len(key) != bundleKeyLen || r.live == nil || binary.BigEndian.Uint64(key[1:]) != r.live.seq {
		return fmt.Errorf("the records under %x belong to no job", key)
	}
	var err error
	r.job.Events, err = decodeEvents(r.job.Events, r.job.Submission.Job, value)
	if err != nil {
		return fmt.Errorf("the records under %x: %w", key, err)
	}
	r.live.bundles = binary.BigEndian.Uint32(key[10:]) + 1
	return nil
}

// finish returns the job at hand away.
func (r *reading) finish() error {
	if r.job.Submission == nil {
		return nil
	}
	r.rep.Jobs++
	r.rep.Events += len(r.job.Events)
	r.rep.Tasks += len(r.job.Submission.Request.Tasks)
	for i := range r.job.Events {
		if r.job.Events[i].Kind == TaskEnded {
			r.rep.Tasks--
		}
	}
	err := r.visit(&r.job)
	clear(r.job.Events)
	r.job = Job{Events: r.job.Events[:0]}
	return err
}
