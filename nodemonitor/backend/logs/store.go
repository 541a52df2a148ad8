package logs

import (
	"container/list"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Config is what a Store keeps and how long. Zero means the default.
type Config struct {
	Root        string        // folder; made when missing
	Retention   time.Duration // after the attempt's end; default 1 h
	MaxBytes    int64         // of ended attempts, working folders included; default a fifth of the disk
	MaxAttempts int           // ended attempts; default 100,000
	Passable    bool          // tasks run as other users, who pass the folder and those of jobs to reach their own
	Former      bool          // processes of an earlier run may still write: nothing is dropped before Continued
	Log         *slog.Logger  // nil discards
	Now         func() time.Time
}

func (c *Config) fill() {
	if c.Retention == 0 {
		c.Retention = time.Hour
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = 100_000
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Store keeps the logs of one node. All methods may be called from any goroutine.
type Store struct {
	cfg  Config
	lock *os.File

	sweeping sync.Mutex // held by the one sweep at a time, across its I/O
	folders  sync.Mutex // held while the folder of a job is made or removed, across that I/O; taken before mu

	mu      sync.Mutex
	awaits  bool // Continued
	jobs    map[sched.JobID]map[sched.AttemptID]*entry
	ended   ended
	pending []*entry // ended and not measured yet, or forgotten meanwhile
	stats   Stats
	spares  spares
	lists   []string // that are made, each with the user of the attempt
	evicted evicted
	// The job whose folder was made, or found, last.
	madeJob sched.JobID
	madeAt  time.Time
}

// madeFor is how long the folder of a job is not looked at again while its attempts begin one
// after another.
const madeFor = time.Second

// Stats are counts since the start.
type Stats struct {
	Irregular  uint64 // reads refused: the task had put something else in the place of its output
	Unreadable uint64 // reads that failed for another reason
}

// Stats returns the counts.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// entry is what is known of one attempt.
type entry struct {
	id     sched.AttemptID
	user   string // for whom it counts, set before its end; "" when that is not known
	ended  bool
	silent bool      // it has no outputs
	lent   bool      // its folder may become another attempt's at any moment
	again  bool      // an earlier run of the same attempt may have left files
	began  time.Time // zero for one that an earlier run began
	at     time.Time // of the end
	found  bool      // it had ended before this run
	bytes  int64     // -1 before they are measured
	// Where it is among the ended ones.
	place, placeOfUser *list.Element
}

// Files are the paths of one attempt.
type Files struct {
	Stdout, Stderr string
	Folder         string // the attempt's own working folder; not made yet
}

// lockFile is locked by the one process that uses the folder.
const lockFile = "lock"

// Open locks the folder and finds what an earlier run left in it.
func Open(cfg Config) (*Store, error) {
	cfg.fill()
	if err := files.Keep(cfg.Root, cfg.mode(), cfg.Log, lockFile); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(cfg.Root, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, problem(cfg.Root, "the folder of logs cannot be written: "+err.Error(), "give another folder, or allow it to this user")
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close() // nothing was written
		return nil, problem(cfg.Root, "another node monitor uses the folder of logs", "give each node monitor a folder of its own, or stop the other one")
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = shareOfDisk(cfg.Root)
	}
	s := &Store{cfg: cfg, lock: lock, awaits: cfg.Former, jobs: make(map[sched.JobID]map[sched.AttemptID]*entry)}
	if err := s.scan(); err != nil {
		_ = lock.Close() // likewise
		return nil, problem(cfg.Root, "the folder of logs cannot be read: "+err.Error(), "correct its permissions, or give another folder")
	}
	return s, nil
}

// diskPart is which part of its disk the outputs of ended attempts have by default.
const diskPart = 5

// shareOfDisk returns that part in bytes, 1 GiB for a disk whose size cannot be read.
func shareOfDisk(folder string) int64 {
	var disk syscall.Statfs_t
	if syscall.Statfs(folder, &disk) != nil || disk.Blocks == 0 {
		return 1 << 30
	}
	return int64(disk.Blocks/diskPart) * disk.Bsize //nolint:gosec // far below 2^63
}

// mode returns that of the folder and of the folders of jobs in it.
func (c *Config) mode() fs.FileMode {
	if c.Passable {
		return files.Passable
	}
	return files.Private
}

func problem(root, what, next string) error {
	return &api.Error{Problem: api.Internal, What: what, Subject: "folder " + root, Tried: "opening the logs of this node", Next: next}
}

// Close unlocks the folder; the logs stay. It is safe twice.
func (s *Store) Close() error {
	// A child that another goroutine has forked has a copy of the file until it executes its
	// program, and with that copy the lock.
	_ = syscall.Flock(int(s.lock.Fd()), syscall.LOCK_UN) // an end of the last copy unlocks too
	if err := s.lock.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}

// Begin keeps the logs of an attempt until End. It does no I/O: unless the folder of its job is known to be
// there, which made says, Make must be called before anything is written.
func (s *Store) Begin(id sched.AttemptID) (f Files, made bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &entry{id: id, began: s.cfg.Now(), bytes: -1}
	if old := s.jobs[id.Job][id]; old != nil {
		if !old.ended {
			return Files{}, false, &api.Error{Problem: api.Internal, What: "the attempt has logs being written already", Subject: "attempt " + id.String(), Next: "report this: an attempt must not start twice"}
		}
		s.forget(old)
		e.again = true
	}
	if made = len(s.jobs[id.Job]) > 0 && s.isMade(id.Job); !made && s.madeJob == id.Job {
		s.madeJob = sched.JobID{} // for those that begin before Make has ended
	}
	s.add(e)
	return s.files(id), made && !e.again, nil
}

// Make makes the folder of the job of an attempt that has begun. What an earlier run of the same attempt
// left is dropped. It does I/O, without the lock that other methods need, and takes as long as that. After
// an error it may be called again.
func (s *Store) Make(id sched.AttemptID) error {
	s.folders.Lock()
	defer s.folders.Unlock()
	s.mu.Lock()
	e := s.jobs[id.Job][id]
	again, made := e != nil && e.again, s.isMade(id.Job)
	s.mu.Unlock()
	if again {
		_ = s.erase(id) // what stays is overwritten
	}
	if made { // by another attempt meanwhile
		return nil
	}
	now := s.cfg.Now()
	if err := s.makeJob(id.Job); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.madeJob, s.madeAt = id.Job, now
	return nil
}

// isMade reports whether the folder of a job was made, or found, a moment ago. It needs the lock.
func (s *Store) isMade(job sched.JobID) bool {
	return job == s.madeJob && s.cfg.Now().Sub(s.madeAt) < madeFor
}

// makeJob makes the folder of a job, unless it is there in its proper form.
func (s *Store) makeJob(job sched.JobID) error {
	folder := s.jobFolder(job)
	if info, err := os.Lstat(folder); err == nil && info.IsDir() && info.Mode().Perm() == s.cfg.mode() {
		return nil
	}
	if err := s.makeRoot(); err != nil {
		return err
	}
	if err := files.MakeFolder(s.cfg.Root, job.String()); err != nil {
		return err
	}
	return os.Chmod(folder, s.cfg.mode())
}

// makeRoot makes the folder again that was removed, as unused ones below that for temporary files are.
func (s *Store) makeRoot() error {
	if os.Mkdir(s.cfg.Root, files.Private) == nil {
		return os.Chmod(s.cfg.Root, s.cfg.mode())
	}
	return nil // it is there, or what needs it fails
}

// Continue records that an attempt of an earlier run still writes.
func (s *Store) Continue(id sched.AttemptID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := &entry{id: id, bytes: -1}
	if e := s.jobs[id.Job][id]; e != nil && e.ended {
		found.user = e.user
		s.forget(e)
	}
	s.add(found)
}

// Continued is called when Continue was, for all attempts that still write. Until then what an earlier
// run has left counts as ended and may be older than the retention, although it is in use.
func (s *Store) Continued() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaits = false
}

// UserOf returns the name of a user of this machine for For, as an earlier run finds it again by the owner of
// working folders.
func UserOf(uid int) string { return fmt.Sprintf("uid %d", uid) }

// For records for whom an attempt runs.
func (s *Store) For(id sched.AttemptID, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.jobs[id.Job][id]; e != nil && !e.ended {
		e.user = user
	}
}

// End is called when nothing more will be written; silent means that nothing was written to
// either output. The next Sweep counts the bytes.
func (s *Store) End(id sched.AttemptID, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.jobs[id.Job][id]; e != nil && !e.ended {
		e.ended, e.silent, e.at = true, silent, s.cfg.Now()
		s.ended.add(e)
		s.pending = append(s.pending, e)
		if silent { // probably it has left no files either
			s.spares.offer(e)
		}
	}
}

// Latest returns the latest attempt at a task that is known here, kept or dropped; 0 for none.
func (s *Store) Latest(job sched.JobID, task int32) (attempt int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.jobs[job] {
		if id.Task == task {
			attempt = max(attempt, id.Attempt)
		}
	}
	return max(attempt, s.evicted.latest(job, task))
}

// Attempts returns the attempts at a task whose logs are here, ascending.
func (s *Store) Attempts(job sched.JobID, task int32) []int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int32
	for id := range s.jobs[job] {
		if id.Task == task {
			out = append(out, id.Attempt)
		}
	}
	slices.Sort(out)
	return out
}

// add adds an entry to the index. It needs the lock.
func (s *Store) add(e *entry) {
	job := s.jobs[e.id.Job]
	if job == nil {
		job = make(map[sched.AttemptID]*entry)
		s.jobs[e.id.Job] = job
	}
	job[e.id] = e
}

func (s *Store) jobFolder(job sched.JobID) string { return filepath.Join(s.cfg.Root, job.String()) }

func (s *Store) files(id sched.AttemptID) Files {
	base := filepath.Join(s.jobFolder(id.Job), attemptName(id))
	return Files{Stdout: base + Stdout.suffix(), Stderr: base + Stderr.suffix(), Folder: base}
}
