package journal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/launchsecret"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// recovery checks a journal at its opening and reads it back.
type recovery struct {
	fs    store.FS
	dir   string
	mark  format
	life  func(incarnation uint64, scope sched.JobScope) error
	visit func(*Job) error

	// The results.
	report    *Report
	live      map[sched.JobID]*liveJob
	newest    uint64 // number of the newest batch
	witnessed progress

	// The current job, which is complete when the next one starts.
	job     Job
	current *liveJob
	refused error    // what visit returned
	seen    []string // the first jobs, for the error of a damaged journal
}

// read checks that the journal is whole and then reads it back.
func (r *recovery) read(s backing) error {
	if err := r.checkNumbers(s); err != nil {
		return err
	}
	v, err := s.Get(metaKey(incarnation))
	switch {
	case err != nil:
		return damage(r.dir, err, nil)
	case v != nil && len(v) != 8:
		return damage(r.dir, errors.New("its incarnation number is not 8 bytes long"), nil)
	case v != nil:
		r.report.Incarnation = binary.BigEndian.Uint64(v)
	}
	if r.report.Incarnation < r.mark.incarnation {
		return r.lost(s, "", fmt.Sprintf("incarnation %d was begun and the newest in the store is %d: a log is missing, or the store is an older copy",
			r.mark.incarnation, r.report.Incarnation), nil)
	}
	if err := r.readReportKey(s); err != nil {
		return err
	}
	if err := r.readScope(s); err != nil {
		return err
	}
	if err := r.readApps(s); err != nil {
		return err
	}
	if err := r.life(r.report.Incarnation+1, r.report.Scope); err != nil {
		return err
	}
	return r.readJobs(s)
}

// readReportKey reads the key of launch secrets, which a journal from before them lacks.
func (r *recovery) readReportKey(s backing) error {
	v, err := s.Get(metaKey(reportKey))
	switch {
	case err != nil:
		return damage(r.dir, err, nil)
	case v != nil && len(v) != launchsecret.KeySize:
		return damage(r.dir, fmt.Errorf("its key of launch secrets is not %d bytes long", launchsecret.KeySize), nil)
	}
	copy(r.report.ReportKey[:], v)
	return nil
}

// readScope reads the scope of job ids, or makes that of a new journal. A journal from before
// scopes has its frontend's name, from which the ids of its jobs were derived.
func (r *recovery) readScope(s backing) error {
	v, err := s.Get(metaKey(jobScope))
	switch {
	case err != nil:
		return damage(r.dir, err, nil)
	case v != nil:
		r.report.Scope = sched.JobScope(v)
	case r.report.Incarnation == 0:
		r.report.Scope = sched.JobScope(r.mark.frontend + "@" + rand.Text())
	default:
		r.report.Scope = sched.JobScope(r.mark.frontend)
	}
	return nil
}

// checkNumbers compares the numbers of the batches in the store with one another
// and with the witness.
func (r *recovery) checkNumbers(s backing) error {
	last, missing, err := readNumbers(s)
	if err != nil {
		return damage(r.dir, err, nil)
	}
	r.newest = last
	if r.mark.version >= firstNumbered {
		p, err := readWitness(r.fs, r.dir)
		r.witnessed = p
		switch {
		case err != nil:
			return err
		case last < p.acknowledged:
			missing = &hole{last + 1, p.acknowledged}
		case last < p.begun:
			r.report.Torn = &Torn{last + 1, p.begun}
		}
	}
	if missing == nil {
		return nil
	}
	return r.lost(s, s.NewestLog(), fmt.Sprintf("%v, acknowledged as written, cannot be read; the newest batch that can is %d", missing, last), firstJobs(s))
}

// lost returns the refusal of a journal that lacks what this host knows was acknowledged.
func (r *recovery) lost(s backing, file, what string, jobs []string) error {
	if _, replicated := s.(abandoner); !replicated {
		return damageErr(r.dir, file, what, jobs)
	}
	return streamLacksErr(r.dir, s.NewestLog(), what)
}

// readJobs calls visit with every unfinished job, in the order of acceptance.
func (r *recovery) readJobs(s backing) error {
	err := s.Scan([]byte{prefixJob}, []byte{prefixJob + 1}, r.entry)
	if err == nil {
		err = r.finish()
	}
	if r.refused != nil {
		return r.refused
	}
	if err != nil {
		return damage(r.dir, err, r.seen)
	}
	return nil
}

func (r *recovery) entry(key, value []byte) error {
	if len(key) != jobKeyLen {
		return r.events(key, value)
	}
	if err := r.finish(); err != nil {
		return err
	}
	return r.start(key, value)
}

// start begins a job.
func (r *recovery) start(key, value []byte) error {
	s, err := decodeSubmission(value)
	if err != nil {
		return fmt.Errorf("the submission under %x: %w", key, err)
	}
	r.current = &liveJob{seq: binary.BigEndian.Uint64(key[1:]), stored: true}
	r.live[s.Job] = r.current
	r.job.Submission = s
	if len(r.seen) <= shownJobs {
		r.seen = append(r.seen, describe(s))
	}
	return nil
}

// events adds one bundle of records to the current job.
func (r *recovery) events(key, value []byte) error {
	if len(key) != bundleKeyLen || r.current == nil || binary.BigEndian.Uint64(key[1:]) != r.current.seq {
		return fmt.Errorf("the records under %x belong to no job", key)
	}
	if n := binary.BigEndian.Uint32(key[10:]); n != r.current.bundles {
		return fmt.Errorf("bundle %d of the records of %s is missing, bundle %d follows", r.current.bundles, describe(r.job.Submission), n)
	}
	r.current.bundles++
	var err error
	r.job.Events, err = decodeEvents(r.job.Events, r.job.Submission.Job, value)
	if err != nil {
		return fmt.Errorf("the records under %x: %w", key, err)
	}
	return nil
}

// finish hands the current job to visit.
func (r *recovery) finish() error {
	if r.job.Submission == nil {
		return nil
	}
	r.report.Jobs++
	r.report.Events += len(r.job.Events)
	r.report.Tasks += len(r.job.Submission.Request.Tasks)
	for i := range r.job.Events {
		if k := r.job.Events[i].Kind; k == TaskEnded || k == TaskReported {
			r.report.Tasks--
		}
	}
	r.refused = r.visit(&r.job)
	clear(r.job.Events)
	r.job = Job{Events: r.job.Events[:0]}
	return r.refused
}

// readApps fills in where the registered applications listen.
func (r *recovery) readApps(s backing) error {
	err := s.Scan([]byte{prefixApp}, []byte{prefixApp + 1}, func(key, value []byte) error {
		r.report.Apps[string(key[1:])] = string(value)
		return nil
	})
	if err != nil {
		return damage(r.dir, err, nil)
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
	_ = err // the journal is refused in any case; the names only go into its error
	return names
}

func describe(s *Submission) string {
	if s.Request.Key == "" {
		return s.Job.String()
	}
	return fmt.Sprintf("%s (key %q)", s.Job, s.Request.Key)
}
