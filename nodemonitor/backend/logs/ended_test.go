package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"pgregory.net/rapid"
)

// writeFor runs one attempt of a user that writes n bytes in three files.
func writeFor(t *testing.T, s *Store, user string, id sched.AttemptID, n int) {
	t.Helper()
	if _, _, err := s.Begin(id); err != nil {
		t.Fatal(err)
	}
	s.For(id, user)
	must(t, s.Make(id))
	for _, path := range outputNames(filepath.Join(s.jobFolder(id.Job), attemptName(id)))[:2] {
		must(t, writeFile(path, n))
	}
	s.End(id, false)
}

// The outputs of one user make no room for those of another who has less: neither one large output, nor many small
// ones, nor many attempts.
func TestWhoHasMostMakesRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg          Config
		number, size int
	}{
		"large":         {Config{MaxBytes: 1000}, 8, 400},
		"one too large": {Config{MaxBytes: 1000}, 1, 100_000},
		"many":          {Config{MaxBytes: 1000}, 200, 10},
		"attempts":      {Config{MaxAttempts: 10}, 50, 1},
	} {
		s, c := open(t, tc.cfg)
		alice, mallory := sched.NewJobID("f", "alice"), sched.NewJobID("f", "mallory")
		for k := range int32(3) {
			writeFor(t, s, "alice", sched.AttemptID{Job: alice, Task: k, Attempt: 1}, 50)
		}
		for k := range tc.number {
			c.now = c.now.Add(time.Millisecond)
			writeFor(t, s, "mallory", sched.AttemptID{Job: mallory, Task: int32(k), Attempt: 1}, tc.size)
			sweep(t, s)
		}
		if have := len(s.jobs[alice]); have != 3 {
			t.Errorf("%s: %d of three attempts of the other user are kept", name, have)
		}
		if have := s.Attempts(mallory, int32(tc.number-1)); len(have) != 1 {
			t.Errorf("%s: the newest one is not kept", name)
		}
		if all := s.ended.all.Len(); tc.cfg.MaxAttempts > 0 && all != tc.cfg.MaxAttempts {
			t.Errorf("%s: %d attempts are kept, want %d", name, all, tc.cfg.MaxAttempts)
		}
	}
}

// After a restart, attempts count for the owners of their working folders.
func TestUsersAreFoundAgain(t *testing.T) {
	s, _ := open(t, Config{Passable: true})
	write(t, s, attempt(0, 1), 10)
	must(t, s.Close())
	s, _ = open(t, Config{Root: s.cfg.Root, Passable: true})
	owner := UserOf(ownerOf(t, s.files(attempt(0, 1)).Folder))
	if u := s.ended.users[owner]; u == nil || u.list.Len() != 1 {
		t.Errorf("found for %v, want %s", s.ended.users, owner)
	}
	s.Continue(attempt(0, 1))
	s.End(attempt(0, 1), false)
	if u := s.ended.users[owner]; u == nil || u.list.Len() != 1 {
		t.Errorf("it ended for %v, want %s", s.ended.users, owner)
	}
}

// The latest attempt at a task is known as long as its end is, so that a reader is told why it is not here.
func TestLatestIsKnownWhenItIsGone(t *testing.T) {
	s, c := open(t, Config{MaxBytes: 25})
	for n := range int32(3) {
		if got := s.Latest(job, 0); got != n {
			t.Errorf("the latest is attempt %d, want %d", got, n)
		}
		c.now = c.now.Add(time.Second)
		write(t, s, attempt(0, n+1), 10)
		write(t, s, attempt(1, n+1), 10)
		sweep(t, s)
	}
	_, err := s.Read(sched.AttemptID{Job: job, Attempt: s.Latest(job, 0)}, Stdout, 0, 0)
	if err == nil || !strings.Contains(err.Error(), "removed to make room") {
		t.Errorf("reading the latest one: %v", err)
	}
}

// The accounts by user agree with the entries, whatever happens to these, and what makes room is the oldest of
// somebody who has most.
func TestEndedAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s ended
		var all []*entry
		now := time.Now()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			pick := func() *entry { return all[rapid.IntRange(0, len(all)-1).Draw(t, "entry")] }
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0 || len(all) == 0:
				now = now.Add(time.Second)
				e := &entry{user: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "user")), at: now, bytes: -1}
				s.add(e)
				all = append(all, e)
			case kind == 1:
				s.measured(pick(), int64(rapid.IntRange(0, 9).Draw(t, "bytes")))
			case kind == 2:
				e := pick()
				s.remove(e)
				all = slices.DeleteFunc(all, func(o *entry) bool { return o == e })
			default:
				most, byUser := int64(0), map[string]int64{}
				for _, e := range all {
					byUser[e.user] += max(e.bytes, 0)
					most = max(most, byUser[e.user])
				}
				e := s.oldestOfMost(true)
				switch first := slices.IndexFunc(all, func(o *entry) bool { return e != nil && o.user == e.user }); {
				case e != nil && (byUser[e.user] != most || all[first] != e || e == all[len(all)-1]):
					t.Fatalf("%+v makes room", e)
				case e == nil && byUser[all[len(all)-1].user] != most:
					t.Fatal("nobody makes room")
				}
			}
			var total int64
			for _, e := range all {
				total += max(e.bytes, 0)
			}
			if s.bytes() != total || s.all.Len() != len(all) {
				t.Fatalf("%d bytes of %d, want %d of %d", s.bytes(), s.all.Len(), total, len(all))
			}
		}
	})
}

func writeFile(path string, n int) error { return os.WriteFile(path, make([]byte, n), 0o600) }

func ownerOf(t *testing.T, folder string) int {
	t.Helper()
	info, err := os.Stat(folder)
	must(t, err)
	return files.Owner(info)
}
