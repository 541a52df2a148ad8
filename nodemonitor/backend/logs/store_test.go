package logs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"pgregory.net/rapid"
)

var job = sched.NewJobID("frontend", "nightly")

func attempt(task, n int32) sched.AttemptID {
	return sched.AttemptID{Job: job, Task: task, Attempt: n}
}

// clock is a hand-moved clock.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func open(t *testing.T, cfg Config) (*Store, *clock) {
	t.Helper()
	if cfg.Root == "" {
		cfg.Root = t.TempDir()
	}
	c := &clock{now: time.Now()}
	cfg.Now = c.Now
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, c
}

// begin begins an attempt, with the folder of its job.
func begin(s *Store, id sched.AttemptID) (Files, error) {
	f, made, err := s.Begin(id)
	if err == nil && !made {
		err = s.Make(id)
	}
	return f, err
}

// write runs one attempt that writes n bytes to each output and its folder.
func write(t *testing.T, s *Store, id sched.AttemptID, n int) Files {
	t.Helper()
	f, err := begin(s, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(f.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{f.Stdout, f.Stderr, filepath.Join(f.Folder, "result")} {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.End(id, false)
	return f
}

func sweep(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestDroppedAfterRetention(t *testing.T) {
	s, c := open(t, Config{})
	f := write(t, s, attempt(0, 1), 10)
	if _, err := begin(s, attempt(1, 1)); err != nil { // runs on
		t.Fatal(err)
	}
	c.now = c.now.Add(time.Hour - 1)
	sweep(t, s)
	if !exists(f.Stdout) || !exists(f.Folder) {
		t.Fatal("dropped before the hour was over")
	}
	c.now = c.now.Add(1)
	sweep(t, s)
	if exists(f.Stdout) || exists(f.Stderr) || exists(f.Folder) {
		t.Error("kept after the hour")
	}
	var e *api.Error
	if _, err := s.Read(attempt(0, 1), Stdout, 0, 0); !errors.As(err, &e) || e.Problem != api.NotFound || e.Next == "" {
		t.Errorf("reading it returns %v", err)
	}
	if _, err := s.Read(attempt(1, 1), Stdout, 0, 0); err != nil {
		t.Errorf("a running attempt was dropped: %v", err)
	}
	s.End(attempt(1, 1), false)
	c.now = c.now.Add(time.Hour)
	sweep(t, s)
	if exists(s.jobFolder(job)) {
		t.Error("the job's folder stays without attempts")
	}
}

// A work folder that somebody has removed, as what is not used for days is below the system's folder
// for temporary files, is made again as it was: other users may pass it.
func TestWorkFolderThatIsRemoved(t *testing.T) {
	s, _ := open(t, Config{Root: filepath.Join(t.TempDir(), "work"), Passable: true})
	must(t, os.RemoveAll(s.cfg.Root))
	f := write(t, s, attempt(0, 1), 10)
	for _, folder := range []string{s.cfg.Root, filepath.Dir(f.Folder)} {
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != files.Passable {
			t.Errorf("%s is %v, %v", folder, info, err)
		}
	}
}

// The folder of a job is there for every attempt, although it is not looked at for each: also when
// it was removed a moment ago with the last attempt, and a second after somebody removed it.
func TestFolderOfAJobIsMadeAgain(t *testing.T) {
	s, c := open(t, Config{Retention: time.Millisecond})
	write(t, s, attempt(0, 1), 10)
	s.End(attempt(0, 1), false)
	c.now = c.now.Add(2 * time.Millisecond)
	sweep(t, s)
	if exists(s.jobFolder(job)) {
		t.Fatal("the folder stays without attempts")
	}
	runIn(t, s, attempt(1, 1))
	must(t, os.RemoveAll(s.jobFolder(job)))
	if _, err := begin(s, attempt(2, 1)); err != nil || exists(s.jobFolder(job)) {
		t.Errorf("%v; the folder is looked at for each attempt", err)
	}
	c.now = c.now.Add(madeFor)
	runIn(t, s, attempt(3, 1))
}

// While the folder of a job is made, which may take as long as the disk hangs, other attempts begin and end;
// those of the same job do not count on the folder, although it was there before.
func TestBeginWhileAFolderIsMade(t *testing.T) {
	s, c := open(t, Config{})
	runIn(t, s, attempt(0, 1))
	c.now = c.now.Add(madeFor)
	s.folders.Lock() // as Make does
	for k := range int32(2) {
		if _, made, err := s.Begin(attempt(1+k, 1)); made || err != nil {
			t.Errorf("attempt %d: made %v, %v", k, made, err)
		}
	}
	s.End(attempt(1, 1), true)
	s.folders.Unlock()
	must(t, s.Make(attempt(2, 1)))
	if _, made, err := s.Begin(attempt(3, 1)); !made || err != nil {
		t.Errorf("made %v, %v", made, err)
	}
}

// TestTimesOfTheFuture: a task that gives its files a time of the future does not keep the logs of
// others from being dropped when they are found again.
func TestTimesOfTheFuture(t *testing.T) {
	root := t.TempDir()
	s, _ := open(t, Config{Root: root})
	far := write(t, s, attempt(0, 1), 10)
	write(t, s, attempt(1, 1), 10)
	future := time.Now().AddDate(20, 0, 0)
	if err := os.Chtimes(far.Stdout, future, future); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, c := open(t, Config{Root: root})
	c.now = c.now.Add(2 * time.Hour)
	sweep(t, s)
	if left := append(s.Attempts(job, 0), s.Attempts(job, 1)...); len(left) != 0 {
		t.Errorf("attempts %v stay", left)
	}
}

func TestTotalIsBounded(t *testing.T) {
	s, _ := open(t, Config{MaxBytes: 100})
	for i := range int32(5) {
		write(t, s, attempt(i, 1), 10) // 30 bytes
		sweep(t, s)
	}
	for i := range int32(5) {
		if have := len(s.Attempts(job, i)) == 1; have != (i >= 2) {
			t.Errorf("attempt at task %d kept: %v", i, have)
		}
	}
	if _, err := s.Read(attempt(0, 1), Stdout, 0, 0); err == nil || !strings.Contains(err.Error(), "removed to make room: this node keeps 100 bytes (log_limit)") {
		t.Errorf("reading what was dropped returns %v", err)
	}
	write(t, s, attempt(9, 1), 1000)
	sweep(t, s)
	if len(s.Attempts(job, 4)) != 0 || len(s.Attempts(job, 9)) != 1 {
		t.Error("of ended attempts, the newest one alone should stay, although it is above the limit")
	}
	s, _ = open(t, Config{MaxAttempts: 2})
	for i := range int32(4) {
		write(t, s, attempt(i, 1), 0)
	}
	sweep(t, s)
	if len(s.Attempts(job, 1)) != 0 || len(s.Attempts(job, 2)) != 1 {
		t.Error("the number of attempts is not bounded to the last 2")
	}
}

// The attempts whose logs made room are remembered up to a bound.
func TestEvictedAreBounded(t *testing.T) {
	var d evicted
	for i := range int32(mostEvicted + 3) {
		d.add(attempt(i, 1))
		d.add(attempt(i, 1))
	}
	if len(d.known) != mostEvicted || len(d.order) != mostEvicted || d.known[attempt(2, 1)] || !d.known[attempt(3, 1)] {
		t.Errorf("%d are known, in an order of %d", len(d.known), len(d.order))
	}
}

func TestRead(t *testing.T) {
	s, _ := open(t, Config{})
	f, err := begin(s, attempt(0, 2))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := s.Read(attempt(0, 2), Stderr, 0, 0); err != nil || len(c.Data) != 0 || c.Ended {
		t.Errorf("before the first byte: %+v, %v", c, err)
	}
	if err := os.WriteFile(f.Stderr, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		offset int64
		limit  int
		want   string
	}{{0, 0, "0123456789"}, {3, 4, "3456"}, {8, 100, "89"}, {10, 5, ""}, {99, 5, ""}, {0, 2 * MaxRead, "0123456789"}} {
		c, err := s.Read(attempt(0, 2), Stderr, tc.offset, tc.limit)
		if err != nil || string(c.Data) != tc.want || c.Size != 10 {
			t.Errorf("%d bytes from %d: %q of %d, %v", tc.limit, tc.offset, c.Data, c.Size, err)
		}
	}
	s.End(attempt(0, 2), false)
	if c, err := s.Read(attempt(0, 2), Stdout, 0, 0); err != nil || !c.Ended {
		t.Errorf("after the end: %+v, %v", c, err)
	}
	for _, bad := range []func() (Chunk, error){
		func() (Chunk, error) { return s.Read(attempt(0, 2), Stdout, -1, 0) },
		func() (Chunk, error) { return s.Read(attempt(0, 2), 2, 0, 0) },
		func() (Chunk, error) { return s.Read(attempt(0, 2), Stdout, 0, -1) },
	} {
		if _, err := bad(); err == nil {
			t.Error("no error for a place that cannot be")
		}
	}
	if _, err := s.Read(attempt(0, 1), Stdout, 0, 0); err == nil || !strings.Contains(err.Error(), "[2]") {
		t.Errorf("the error for another attempt names not the one there is: %v", err)
	}
}

func TestBeginTwice(t *testing.T) {
	s, _ := open(t, Config{})
	f := write(t, s, attempt(0, 1), 10)
	if _, err := begin(s, attempt(0, 1)); err != nil {
		t.Fatal(err)
	}
	if exists(f.Stdout) || exists(f.Folder) {
		t.Error("an attempt begins with what the earlier one left")
	}
	if _, err := begin(s, attempt(0, 1)); err == nil {
		t.Error("a running attempt began again")
	}
}

// TestFoundAgain: a new node monitor finds its predecessor's logs, drops them in
// order, and leaves alone what is not a log.
func TestFoundAgain(t *testing.T) {
	root := t.TempDir()
	s, _ := open(t, Config{Root: root})
	write(t, s, attempt(0, 1), 10)
	write(t, s, attempt(0, 3), 10)
	foreign := filepath.Join(root, "precious")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Root: root}); err == nil || !strings.Contains(err.Error(), "another node monitor") {
		t.Errorf("the folder was opened twice: %v", err)
	}
	forked, err := syscall.Dup(int(s.lock.Fd())) // as a child has it before it executes its program
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(forked) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, c := open(t, Config{Root: root})
	if got := s.Attempts(job, 0); !slices.Equal(got, []int32{1, 3}) {
		t.Errorf("found attempts %v, want 1 and 3", got)
	}
	if chunk, err := s.Read(attempt(0, 3), Stdout, 0, 0); err != nil || len(chunk.Data) != 10 || !chunk.Ended {
		t.Errorf("read %+v, %v", chunk, err)
	}
	sweep(t, s)
	if s.ended.bytes() != 60 {
		t.Errorf("%d bytes counted, want 60", s.ended.bytes())
	}
	c.now = c.now.Add(2 * time.Hour)
	sweep(t, s)
	if len(s.Attempts(job, 0)) != 0 || exists(s.jobFolder(job)) || !exists(foreign) {
		t.Error("old logs stay, or a foreign folder went")
	}
}

func TestNamesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := sched.AttemptID{
			Job:  sched.JobID{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")},
			Task: rapid.Int32Min(0).Draw(t, "task"), Attempt: rapid.Int32Min(1).Draw(t, "attempt"),
		}
		job, ok := parseJob(id.Job.String())
		if !ok || job != id.Job {
			t.Fatalf("job %v read as %v", id.Job, job)
		}
		for _, end := range []string{"", Stdout.suffix(), Stderr.suffix()} {
			if got, ok := parseAttempt(job, attemptName(id)+end); !ok || got != id {
				t.Fatalf("%v read as %v", id, got)
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "lock", "0.1", "0.1.out", "00.1", "-1.1", "0.1.err.out", "1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if id, ok := parseAttempt(job, name); ok && !strings.HasPrefix(name, attemptName(id)) {
			t.Errorf("%q read as %v", name, id)
		}
		if id, ok := parseJob(name); ok && id.String() != name {
			t.Errorf("%q read as %v", name, id)
		}
	})
}
