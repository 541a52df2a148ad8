package staging

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// world is a keeper and its clock.
type world struct {
	*Keeper
	t   *testing.T
	cfg Config
	now time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Unix(1, 0)}
	w.cfg = Config{Frontend: "f", Folder: t.TempDir(), JobBytes: 100, Bytes: 150, Now: func() time.Time { return w.now }}
	w.open()
	return w
}

func (w *world) open() {
	w.t.Helper()
	k, err := New(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Keeper = k
	w.t.Cleanup(func() { _ = k.Close() })
}

// restart is another process of the frontend, which finds the folder.
func (w *world) restart() {
	w.t.Helper()
	_ = w.Close()
	w.open()
}

// of returns a file with a content.
func of(name, content string) api.StagedFile {
	h := sha256.Sum256([]byte(content))
	return api.StagedFile{Name: name, SHA256: hex.EncodeToString(h[:]), Size: int64(len(content))}
}

// send announces and sends contents of a user, as files of their own.
func (w *world) send(user string, contents ...string) []api.StagedFile {
	w.t.Helper()
	var list []api.StagedFile
	for _, c := range contents {
		list = append(list, of("f"+fmt.Sprint(len(list)), c))
	}
	have, err := w.Announce(user, true, list)
	if err != nil {
		w.t.Fatal(err)
	}
	for i, c := range contents {
		if have[i] == list[i].Size {
			continue
		}
		if n, err := w.Put(user, list[i].SHA256, have[i], []byte(c[have[i]:])); err != nil || n != list[i].Size {
			w.t.Fatal(n, err)
		}
	}
	return list
}

// kept returns how many files are in the folder.
func (w *world) kept() int {
	w.t.Helper()
	list, err := os.ReadDir(w.cfg.Folder)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(list)
}

func (w *world) later(d time.Duration) {
	w.now = w.now.Add(d)
	w.Sweep()
}

func problem(err error) api.Problem {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Problem
	}
	return 0
}

// A file is kept for ten minutes, for as long as an unfinished job holds it, also over a restart,
// and then for ten minutes again.
func TestFilesAreKeptWhileTheyAreNeeded(t *testing.T) {
	w := newWorld(t)
	job := sched.NewJobID("f", "j")
	list := w.send("ann", "data", "", "data")
	if w.kept() != 2 {
		t.Fatalf("%d files are kept, want 2: equal ones are one", w.kept())
	}
	w.later(unused - time.Second)
	h, err := w.Hold(t.Context(), "ann", list)
	if err != nil {
		t.Fatal(err)
	}
	w.Accepted(job, h)
	w.later(time.Hour)
	if data, size, here, err := w.Piece(list[0].SHA256, 1, 2); !here || err != nil || string(data) != "at" || size != 4 {
		t.Fatalf("%q of %d, here %v, %v", data, size, here, err)
	}
	w.restart()
	w.Restore(job, "ann", list)
	w.later(time.Hour)
	if _, err := w.Hold(t.Context(), "ann", list); err != nil {
		t.Errorf("a second job with files of the first: %v", err)
	}
	w.restart()
	w.Restore(job, "ann", list)
	w.Ended(job)
	w.Ended(job)
	w.later(unused - time.Second)
	if w.kept() != 2 {
		t.Errorf("%d files are kept just after the end, want 2", w.kept())
	}
	w.later(time.Second)
	if _, _, here, _ := w.Piece(list[0].SHA256, 0, 1); w.kept() != 0 || here {
		t.Errorf("%d files are kept, here %v", w.kept(), here)
	}
	if _, err := w.Hold(t.Context(), "ann", list); problem(err) != api.NotReady || !strings.Contains(err.Error(), `"f0" has not arrived from ann`) {
		t.Errorf("%v", err)
	}
}

// What an earlier process left and no unfinished job needs is removed.
func TestFilesThatNobodyNeedsGoAfterARestart(t *testing.T) {
	w := newWorld(t)
	w.send("ann", "data")
	if err := os.WriteFile(filepath.Join(w.cfg.Folder, of("", "x").SHA256+".1.part"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.Sweep()
	if w.kept() != 0 {
		t.Errorf("%d files are kept", w.kept())
	}
}

// Knowing the hash of somebody's file gives nobody its content: each user has to send it.
func TestAHashIsNoWayToAContent(t *testing.T) {
	w := newWorld(t)
	list := w.send("ann", "secret")
	if _, err := w.Hold(t.Context(), "bob", list); problem(err) != api.NotReady {
		t.Errorf("bob may use a file of ann: %v", err)
	}
	if have, err := w.Announce("bob", true, list); err != nil || have[0] != 0 {
		t.Errorf("bob learns that ann has sent it: %v, %v", have, err)
	}
	if n, err := w.Put("bob", list[0].SHA256, 0, []byte("guess!")); err == nil {
		t.Errorf("a wrong content was taken: %d", n)
	}
	if _, err := w.Hold(t.Context(), "bob", list); problem(err) != api.NotReady {
		t.Errorf("bob may use it after a wrong guess: %v", err)
	}
	if _, err := w.Put("eve", list[0].SHA256, 0, []byte("secret")); problem(err) != api.NotReady {
		t.Errorf("a piece that was not announced: %v", err)
	}
	if _, err := w.Hold(t.Context(), "ann", list); err != nil {
		t.Errorf("ann's own: %v", err)
	}
	w.send("bob", "secret")
	if _, err := w.Hold(t.Context(), "bob", list); err != nil || w.kept() != 1 {
		t.Errorf("%v; %d files are kept, want 1", err, w.kept())
	}
}

// Every bound is named by its refusal.
func TestBounds(t *testing.T) {
	w := newWorld(t)
	a, b := strings.Repeat("a", 60), strings.Repeat("b", 60)
	for name, c := range map[string]struct {
		list []api.StagedFile
		want string
		is   api.Problem
	}{
		"of a job":  {[]api.StagedFile{of("a", a), of("b", b)}, "120 bytes, more than the limit of 100 a job (stage_job_bytes)", api.Invalid},
		"of a user": {[]api.StagedFile{of("a", a+"more than 75 bytes")}, "78 bytes, more than the limit of 75 for one user (half of stage_bytes)", api.Busy},
		"a name":    {[]api.StagedFile{of("../a", a)}, "relative path", api.Invalid},
	} {
		if _, err := w.Announce("ann", true, c.list); problem(err) != c.is || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := w.Announce("root", false, []api.StagedFile{of("a", a), of("b", a)}); err != nil {
		t.Errorf("one content under two names: %v", err)
	}
	if _, err := w.Announce("ann", true, []api.StagedFile{of("a", a)}); err != nil {
		t.Error(err)
	}
	if _, err := w.Announce("bob", true, []api.StagedFile{of("b", b)}); problem(err) != api.Busy || !strings.Contains(err.Error(), "180, more than the limit of 150") {
		t.Errorf("of all: %v", err)
	}
	w.later(unused)
	if _, err := w.Announce("bob", true, []api.StagedFile{of("b", b)}); err != nil {
		t.Errorf("after the others' time: %v", err)
	}
	w.cfg.JobBytes = 0
	w.restart()
	if _, err := w.Announce("ann", true, []api.StagedFile{of("a", "")}); problem(err) != api.Invalid || !strings.Contains(err.Error(), "stage_job_bytes is 0") {
		t.Errorf("off: %v", err)
	}
}

// One user takes half of the places for files, and leaves the others theirs.
func TestPlacesOfOneUser(t *testing.T) {
	w := newWorld(t)
	fill := func(user string, n int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for i := range n {
			w.add(possession{user, fmt.Sprint(i)})
		}
	}
	list := w.send("ann", "first")
	fill("ann", maxKnown/2-1)
	_, err := w.Announce("ann", true, []api.StagedFile{of("f", "one more")})
	if problem(err) != api.Busy || !strings.Contains(err.Error(), "100000 staged files of ann are known, the limit for one user (half of 200000)") {
		t.Errorf("beyond the half: %v", err)
	}
	if have, err := w.Announce("ann", true, list); err != nil || have[0] != 5 {
		t.Errorf("a file that has a place: %v, %v", have, err)
	}
	w.send("bob", "another's")
	if _, err := w.Announce("ann", false, []api.StagedFile{of("f", "one more")}); err != nil {
		t.Errorf("a user without a bound: %v", err)
	}
	fill("root", maxKnown/2-2)
	_, err = w.Announce("bob", true, []api.StagedFile{of("f", "no place")})
	if problem(err) != api.Busy || !strings.Contains(err.Error(), "200000 staged files are known, the limit") {
		t.Errorf("beyond all: %v", err)
	}
	w.later(unused)
	w.send("ann", "after their time")
}

// A submission that was refused because its user had not sent a file releases nothing that another
// job holds, although the user has sent it meanwhile.
func TestRefusedHoldReleasesOnlyItsOwn(t *testing.T) {
	w := newWorld(t)
	list := []api.StagedFile{of("f", "data")}
	early := w.hold("ann", list, false) // of a submission before its file
	w.send("ann", "data")
	h, err := w.Hold(t.Context(), "ann", list)
	if err != nil {
		t.Fatal(err)
	}
	early.Release()
	w.later(time.Hour)
	if again, err := w.Hold(t.Context(), "ann", list); err != nil {
		t.Errorf("the user of an unfinished job with the file has to send it again: %v", err)
	} else {
		again.Release()
	}
	h.Release()
	w.later(unused)
	if w.kept() != 0 || len(w.known) != 0 || len(w.uses) != 0 {
		t.Errorf("after the end %d files are kept, %d known, %d used", w.kept(), len(w.known), len(w.uses))
	}
}

// A file that was damaged on the disk is sent again, and serves again.
func TestDamagedFilesAreSentAgain(t *testing.T) {
	w := newWorld(t)
	list := w.send("ann", "data")
	if err := os.WriteFile(filepath.Join(w.cfg.Folder, list[0].SHA256), []byte("DATA!"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Hold(t.Context(), "ann", list); problem(err) != api.NotReady {
		t.Errorf("%v", err)
	}
	w.send("ann", "data")
	if _, err := w.Hold(t.Context(), "ann", list); err != nil || w.store.Stats().Damaged != 1 {
		t.Errorf("%v, %+v", err, w.store.Stats())
	}
}

// Submissions, ends and sweeps at once wait for no lock of each other, and no hold loses its files.
func TestKeeperUnderManyCallers(t *testing.T) {
	w := newWorld(t)
	w.cfg.Bytes, w.cfg.JobBytes = 1<<20, 1<<20
	w.cfg.Now = func() time.Time { return time.Time{}.Add(time.Duration(time.Now().UnixNano()%3) * unused) } // what is unused is over at any moment
	w.restart()
	var all sync.WaitGroup
	for user := range 4 {
		all.Go(func() {
			name := fmt.Sprint("u", user)
			list := []api.StagedFile{of("a", "a"), of("own", name)}
			for i := range 200 {
				if _, err := w.Announce(name, false, list); err != nil {
					t.Error(err)
				}
				for k, content := range []string{"a", name} {
					_, _ = w.Put(name, list[k].SHA256, 0, []byte(content)) // it may be over already
				}
				h, err := w.Hold(t.Context(), name, list)
				if err != nil {
					continue
				}
				job := sched.NewJobID(sched.JobScope(name), fmt.Sprint(i))
				w.Accepted(job, h)
				if _, _, here, err := w.Piece(list[0].SHA256, 0, 1); !here || err != nil {
					t.Errorf("a job's file is gone: %v, %v", here, err)
				}
				w.Ended(job)
			}
		})
	}
	for range 100 {
		w.Sweep()
	}
	all.Wait()
	shares := map[string]share{}
	for p, f := range w.known {
		s := shares[p.user]
		shares[p.user] = share{s.files + 1, s.bytes + f.Size}
	}
	if !maps.Equal(shares, w.shares) {
		t.Errorf("users have %v, the keeper counts %v", shares, w.shares)
	}
}
