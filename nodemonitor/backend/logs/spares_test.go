package logs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// runIn begins an attempt and makes its folder.
func runIn(t *testing.T, s *Store, id sched.AttemptID) Files {
	t.Helper()
	f, err := begin(s, id)
	must(t, err)
	must(t, os.Mkdir(f.Folder, 0o700))
	return f
}

// spare checks which folder is handed out, "" for none.
func spare(t *testing.T, s *Store, want string) (of sched.AttemptID) {
	t.Helper()
	got, of := s.Spare()
	if got != want {
		t.Errorf("%q is spare, want %q", got, want)
	}
	return of
}

// TestSpare: the empty folder of an ended attempt that wrote output is handed out once, and never
// one that is in use or removed.
func TestSpare(t *testing.T) {
	s, clock := open(t, Config{})
	write(t, s, attempt(0, 1), 10) // not empty
	runIn(t, s, attempt(1, 1))
	ended := runIn(t, s, attempt(2, 1))
	s.End(attempt(2, 1), false)
	again := runIn(t, s, attempt(3, 1))
	s.End(attempt(3, 1), false)
	clock.now = clock.now.Add(spareAfter)
	spare(t, s, "") // nobody has looked into them
	sweep(t, s)
	if f, err := begin(s, attempt(3, 1)); err != nil || f != again {
		t.Errorf("it begins again with %+v, %v", f, err)
	}
	spare(t, s, ended.Folder)
	spare(t, s, "") // attempt 1.1 runs
	s.End(attempt(1, 1), false)
	sweep(t, s)
	clock.now = clock.now.Add(2 * time.Hour)
	sweep(t, s)
	spare(t, s, "") // it was removed
}

// The folder of an attempt without output is handed out before it is measured, but not while what
// the attempt has left may still run, and it is measured later if it was not empty.
func TestSpareOfASilentAttempt(t *testing.T) {
	s, clock := open(t, Config{})
	taken, kept, full := runIn(t, s, attempt(1, 1)), runIn(t, s, attempt(2, 1)), runIn(t, s, attempt(3, 1))
	must(t, os.WriteFile(filepath.Join(full.Folder, "file"), make([]byte, 10_000), 0o600))
	for _, id := range []sched.AttemptID{attempt(1, 1), attempt(3, 1), attempt(2, 1)} {
		s.End(id, true)
	}
	sweep(t, s)
	spare(t, s, "")
	clock.now = clock.now.Add(spareAfter)
	of := spare(t, s, taken.Folder)
	must(t, os.Rename(taken.Folder, filepath.Join(filepath.Dir(taken.Folder), "4.1")))
	s.Taken(of)
	s.NotTaken(spare(t, s, full.Folder)) // the caller finds the file, and makes a new folder
	sweep(t, s)
	if s.ended.bytes() != 0 || !s.Pending() {
		t.Errorf("%d bytes are counted, pending: %v", s.ended.bytes(), s.Pending())
	}
	clock.now = clock.now.Add(measureAfter)
	sweep(t, s)
	if s.ended.bytes() < 10_000 || s.Pending() {
		t.Errorf("%d bytes are counted, pending: %v", s.ended.bytes(), s.Pending())
	}
	s.NotTaken(spare(t, s, kept.Folder))
	spare(t, s, "")

	// One that is found not to be empty is not handed out at all.
	full = runIn(t, s, attempt(5, 1))
	must(t, os.WriteFile(filepath.Join(full.Folder, "file"), nil, 0o600))
	s.End(attempt(5, 1), true)
	clock.now = clock.now.Add(measureAfter)
	sweep(t, s)
	spare(t, s, "")
	s.Taken(attempt(5, 1)) // it was measured before
	clock.now = clock.now.Add(2 * time.Hour)
	sweep(t, s)
	if s.ended.bytes() != 0 || exists(full.Folder) {
		t.Errorf("%d bytes are counted after all were removed", s.ended.bytes())
	}
}

// An attempt whose folder was handed out is not dropped before it is known whose it is: a process in
// it may have written there by the time at which it is removed. Those that ended later are dropped.
func TestASpareIsNotDropped(t *testing.T) {
	for name, taken := range map[string]bool{"taken": true, "not taken": false} {
		t.Run(name, func(t *testing.T) {
			s, clock := open(t, Config{})
			f, later := runIn(t, s, attempt(1, 1)), runIn(t, s, attempt(2, 1))
			s.End(attempt(1, 1), true)
			s.End(attempt(2, 1), true)
			clock.now = clock.now.Add(spareAfter)
			of := spare(t, s, f.Folder)
			clock.now = clock.now.Add(2 * time.Hour)
			sweep(t, s)
			if !exists(f.Folder) || exists(later.Folder) {
				t.Errorf("the folder that was handed out is there: %v, the other: %v", exists(f.Folder), exists(later.Folder))
			}
			if taken {
				s.Taken(of)
			} else {
				s.NotTaken(of)
			}
			sweep(t, s)
			if exists(f.Folder) || len(s.Attempts(job, 1)) > 0 {
				t.Error("it is not dropped afterwards")
			}
		})
	}
}
