package logs

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// scan makes entries of what is in the root, ended when last written to, or dated, but not later than now: a
// task may give its files any time. Files with another kind of name are left alone.
func (s *Store) scan() error {
	jobs, err := os.ReadDir(s.cfg.Root)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		job, ok := parseJob(j.Name())
		if !ok || !j.IsDir() {
			continue
		}
		if err := s.scanJob(job); err != nil {
			return err
		}
	}
	slices.SortFunc(s.pending, func(a, b *entry) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id.String(), b.id.String()))
	})
	for _, e := range s.pending {
		s.ended.add(e)
	}
	return nil
}

func (s *Store) scanJob(job sched.JobID) error {
	names, err := os.ReadDir(s.jobFolder(job))
	if err != nil {
		return err
	}
	for _, n := range names {
		id, ok := parseAttempt(job, n.Name())
		info, err := n.Info()
		if !ok || err != nil {
			continue
		}
		e := s.jobs[job][id]
		if e == nil {
			e = &entry{id: id, ended: true, found: true, bytes: -1}
			s.add(e)
			s.pending = append(s.pending, e)
		}
		if n.IsDir() && s.cfg.Passable {
			e.user = UserOf(files.Owner(info))
		}
		if t := info.ModTime(); t.After(e.at) {
			e.at = t
		}
		if now := s.cfg.Now(); e.at.After(now) {
			e.at = now
		}
	}
	return nil
}

// Sweep counts the attempts that have ended since the last one and drops those that are too old or
// too many. It does I/O and takes as long as that. The error names files that could not be
// removed; they are no longer counted.
func (s *Store) Sweep() error {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	if s.waits() {
		return nil
	}
	s.measure()
	var errs []error
	for _, id := range s.takeDue(s.cfg.Now()) {
		errs = append(errs, s.erase(id))
		s.removeEmptyJob(id.Job)
	}
	return errors.Join(errs...)
}

// waits reports whether a running attempt may count as ended.
func (s *Store) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awaits
}

// measure counts the bytes of the entries that ended since the last time.
func (s *Store) measure() {
	todo := s.takePending(s.cfg.Now())
	slices.SortStableFunc(todo, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.id.Job.Hi, b.id.Job.Hi), cmp.Compare(a.id.Job.Lo, b.id.Job.Lo))
	})
	var in *os.Root // the folder of a job, for all its attempts; nil when it is gone, or the task has put something else in its place
	for i, e := range todo {
		if i == 0 || e.id.Job != todo[i-1].id.Job {
			closeFolder(in)
			in, _ = files.Below(s.cfg.Root, e.id.Job.String())
		}
		n, empty := size(in, e)
		if in != nil && e.lasted() {
			date(in, e)
		}
		s.mu.Lock()
		if s.jobs[e.id.Job][e.id] == e { // Begin may have dropped it meanwhile
			s.ended.measured(e, n)
			switch {
			case !empty:
				s.spares.withdraw(e)
			case !e.silent: // otherwise it was offered at its end
				s.spares.offer(e)
			}
		}
		s.mu.Unlock()
	}
	closeFolder(in)
}

// lasting is how long an attempt has run whose end is far enough from its last write that a later
// run must not take the one for the other.
const lasting = 10 * time.Second

// lasted reports whether the attempt has ended in this run, and has run for that long.
func (e *entry) lasted() bool { return !e.found && e.at.Sub(e.began) >= lasting }

// date gives one of the attempt's files, or its folder, the time of its end: scan looks for that.
func date(in *os.Root, e *entry) {
	base := attemptName(e.id)
	for _, name := range append(outputNames(base), base) {
		if in.Chtimes(name, time.Time{}, e.at) == nil { // most often there is no such file
			return
		}
	}
}

// takePending returns the entries that are to be measured now. Those that wrote no output are left
// for a while: mostly a later attempt gets their empty folder, and nothing is to be measured.
func (s *Store) takePending(now time.Time) (todo []*entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	later := s.pending[:0]
	for _, e := range s.pending {
		switch {
		case e.bytes >= 0: // its folder has been taken
		case e.silent && now.Sub(e.at) < measureAfter:
			later = append(later, e)
		default:
			todo = append(todo, e)
		}
	}
	clear(s.pending[len(later):])
	s.pending = later
	return todo
}

// Pending reports whether ended attempts are left for a later Sweep to count.
func (s *Store) Pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) > 0 && !s.awaits
}

func closeFolder(in *os.Root) {
	if in != nil {
		_ = in.Close() // only read
	}
}

// size returns how many bytes of the disk an attempt's files in the folder of its job occupy, and
// whether its working folder is there and empty.
func size(in *os.Root, e *entry) (bytes int64, empty bool) {
	if in == nil {
		return 0, false
	}
	base := attemptName(e.id)
	if !e.silent {
		bytes = files.Size(in, outputNames(base)...)
	}
	if files.IsEmpty(in, base) {
		return bytes, true
	}
	return bytes + files.Size(in, base), false
}

// outputNames returns the names of the files of an attempt's outputs.
func outputNames(base string) []string {
	out, errs := base+Stdout.suffix(), base+Stderr.suffix()
	return []string{out, errs, out + guard.GapSuffix, errs + guard.GapSuffix}
}

// takeDue removes from the index, and returns, what is to be dropped: what is too old, and what makes room, of
// the user who has most, the oldest end first. What is lent is left for the next time.
func (s *Store) takeDue(now time.Time) (due []sched.AttemptID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	drop := func(e *entry) {
		s.forget(e)
		due = append(due, e.id)
	}
	var before *entry // stays
	for e := s.ended.expired(nil, now, s.cfg.Retention); e != nil; e = s.ended.expired(before, now, s.cfg.Retention) {
		if e.lent {
			before = e
			continue
		}
		drop(e)
	}
	for bytes := s.ended.bytes(); bytes > s.cfg.MaxBytes || s.ended.all.Len() > s.cfg.MaxAttempts; {
		e := s.ended.oldestOfMost(bytes > s.cfg.MaxBytes)
		if e == nil {
			break
		}
		s.evicted.add(e.id)
		bytes -= max(e.bytes, 0)
		drop(e)
	}
	return due
}

// forget removes an ended entry from the index. It needs the lock.
func (s *Store) forget(e *entry) {
	s.ended.remove(e)
	s.spares.withdraw(e)
	delete(s.jobs[e.id.Job], e.id)
	if len(s.jobs[e.id.Job]) == 0 {
		delete(s.jobs, e.id.Job)
	}
}

// erase removes an attempt's files, and nothing beyond the job's folder.
func (s *Store) erase(id sched.AttemptID) error {
	in, err := files.Below(s.cfg.Root, id.Job.String())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	base := attemptName(id)
	var errs []error
	for _, name := range append(outputNames(base), base) {
		errs = append(errs, files.RemoveIn(in, name))
	}
	return errors.Join(append(errs, in.Close())...)
}

// removeEmptyJob removes a job's folder with its last attempt. An attempt that begins meanwhile finds no
// other one of its job, and makes the folder again.
func (s *Store) removeEmptyJob(job sched.JobID) {
	s.folders.Lock()
	defer s.folders.Unlock()
	s.mu.Lock()
	begun := s.jobs[job] != nil
	s.mu.Unlock()
	if !begun {
		_ = os.Remove(s.jobFolder(job)) // refused while something lies in it
	}
}
