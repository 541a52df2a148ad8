package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// reading is the state of reading the jobs back: the job at hand, which is
// complete when the next one starts.
type reading struct {
	j       *Journal
	rep     *Report
	visit   func(*Job) error
	job     Job
	live    *liveJob
	refused error    // what visit returned
	seen    []string // the first jobs, for the error of a damaged journal
}

// readJobs calls visit with every unfinished job, in the order of acceptance.
func (j *Journal) readJobs(s backing, rep *Report, visit func(*Job) error) error {
	r := &reading{j: j, rep: rep, visit: visit}
	err := s.Scan([]byte{prefixJob}, []byte{prefixJob + 1}, r.entry)
	if err == nil {
		err = r.finish()
	}
	if r.refused != nil {
		return r.refused
	}
	if err != nil {
		return j.damage(err, r.seen)
	}
	return nil
}

func (r *reading) entry(key, value []byte) error {
	if len(key) != jobKeyLen {
		return r.events(key, value)
	}
	if err := r.finish(); err != nil {
		return err
	}
	return r.start(key, value)
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
		r.seen = append(r.seen, describe(s))
	}
	return nil
}

// events adds one bundle of records to the job at hand.
func (r *reading) events(key, value []byte) error {
	if len(key) != bundleKeyLen || r.live == nil || binary.BigEndian.Uint64(key[1:]) != r.live.seq {
		return fmt.Errorf("the records under %x belong to no job", key)
	}
	if n := binary.BigEndian.Uint32(key[10:]); n != r.live.bundles {
		return fmt.Errorf("bundle %d of the records of %s is missing, bundle %d follows", r.live.bundles, describe(r.job.Submission), n)
	}
	r.live.bundles++
	var err error
	r.job.Events, err = decodeEvents(r.job.Events, r.job.Submission.Job, value)
	if err != nil {
		return fmt.Errorf("the records under %x: %w", key, err)
	}
	return nil
}

// finish hands the job at hand to visit.
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
	r.refused = r.visit(&r.job)
	clear(r.job.Events)
	r.job = Job{Events: r.job.Events[:0]}
	return r.refused
}

// readApps fills in where the registered applications listen.
func (j *Journal) readApps(s backing, rep *Report) error {
	err := s.Scan([]byte{prefixApp}, []byte{prefixApp + 1}, func(key, value []byte) error {
		rep.Apps[string(key[1:])] = string(value)
		return nil
	})
	if err != nil {
		return j.damage(err, nil)
	}
	return nil
}

var errEnough = errors.New("enough jobs are named")

// firstJobs names the first unfinished jobs of a damaged journal, as far as they
// can be read.
func firstJobs(s backing) (names []string) {
	err := s.Scan([]byte{prefixJob}, []byte{prefixJob + 1}, func(key, value []byte) error {
		if len(key) != jobKeyLen {
			return nil
		}
		sub, err := decodeSubmission(value)
		if err != nil {
			return err
		}
		if names = append(names, describe(sub)); len(names) > shownJobs {
			return errEnough
		}
		return nil
	})
	_ = err // the journal is refused in any case, these are words for its error
	return names
}

func describe(s *Submission) string {
	if s.Request.Key == "" {
		return s.Job.String()
	}
	return fmt.Sprintf("%s (key %q)", s.Job, s.Request.Key)
}
