package application

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// jobLog records the jobs that a service submits and cancels.
type jobLog struct {
	submitted []Job
	cancelled []string
}

func (l *jobLog) Submit(j Job)             { l.submitted = append(l.submitted, j) }
func (l *jobLog) Cancel(key string, _ int) { l.cancelled = append(l.cancelled, key) }

// watchedDisk calls a function before it looks at a file.
type watchedDisk struct {
	vfs.FS
	watch func()
}

func (d *watchedDisk) Stat(name string) (vfs.FileInfo, error) {
	d.watch()
	return d.FS.Stat(name)
}

// fileService is a service whose files have 1000 bytes at most, without nodes.
type fileService struct {
	*Service
	t    *testing.T
	disk watchedDisk
	jobs jobLog
}

func newFileService(t *testing.T) *fileService {
	t.Helper()
	s := &fileService{t: t, disk: watchedDisk{vfs.NewMem(), func() {}}}
	store, err := filestore.OpenOn(&s.disk, "files", 1000)
	if err != nil {
		t.Fatal(err)
	}
	s.Service = New(Config{Frontend: "f", Files: store, Jobs: &s.jobs})
	return s
}

// content returns bytes and the file that has them.
func content(fill string, size int) ([]byte, api.File) {
	data := bytes.Repeat([]byte(fill), size)
	sum := sha256.Sum256(data)
	return data, api.File{Name: "file-" + fill, SHA256: hex.EncodeToString(sum[:]), Size: int64(size)}
}

func (s *fileService) register(id string, list ...api.File) (missing []string, err error) {
	r, err := s.RegisterApplication(s.t.Context(), &api.Application{ID: id, Incarnation: 7, Submitter: "of " + id, Template: api.Template{Argv: []string{"x"}, Memory: 1, Files: list}})
	return r.Missing, err
}

// registers registers an application that misses so many files.
func (s *fileService) registers(id string, missing int, list ...api.File) {
	s.t.Helper()
	if m, err := s.register(id, list...); err != nil || len(m) != missing {
		s.t.Fatalf("%s misses %v: %v", id, m, err)
	}
}

// put sends a piece of a file and wants it to be accepted.
func (s *fileService) put(id string, f api.File, offset int64, data []byte, want int64) {
	s.t.Helper()
	if have, err := s.PutFile(s.t.Context(), id, f.SHA256, offset, data); err != nil || have != want {
		s.t.Fatalf("%s sends %s from %d: %d have arrived, want %d: %v", id, f.Name, offset, have, want, err)
	}
}

func wantProblem(t *testing.T, what string, err error, p api.Problem) {
	t.Helper()
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != p {
		t.Errorf("%s: %v, want %v", what, err, p)
	}
}

// A file arrives as its application sends it, whatever others send under the same hash.
func TestFilesOfOthersAreNotDisturbed(t *testing.T) {
	s := newFileService(t)
	data, f := content("a", 10)
	s.registers("stranger", 0)
	s.registers("victim", 1, f)
	s.registers("forger", 1, f)
	s.put("victim", f, 0, data[:5], 5)
	_, err := s.PutFile(t.Context(), "stranger", f.SHA256, 5, []byte("XXXXX"))
	wantProblem(t, "a file that it has not announced", err, api.Invalid)
	s.put("forger", f, 0, []byte("XXXXX"), 5)
	_, err = s.PutFile(t.Context(), "forger", f.SHA256, 5, []byte("XXXXX"))
	wantProblem(t, "another content", err, api.Invalid)
	s.put("victim", f, 5, data[5:], 10)
	if r, err := s.Want(t.Context(), &api.Wants{Application: "victim", Incarnation: 7}); err != nil || len(r.Missing) != 0 || !s.registry.apps["victim"].filesReady {
		t.Errorf("%+v, %v", r, err)
	}
	s.registers("next", 0, f)
	s.put("next", f, 0, data, 10) // it may have been told before that it is missing

	// A size that is wrong keeps nobody from announcing the right one, until the file is here.
	data, f = content("b", 3)
	wrong := f
	wrong.Size = 1
	s.registers("wrong", 1, wrong)
	s.registers("right", 1, f)
	s.put("right", f, 0, data, 3)
	_, err = s.register("too late", wrong)
	wantProblem(t, "a wrong size", err, api.Invalid)
	_, err = s.PutFile(t.Context(), "nobody", f.SHA256, 0, data)
	wantProblem(t, "an application that is not registered", err, api.NotFound)
}

// A file that has arrived and is gone is received again, and a file without bytes is here at once.
func TestFilesArriveAgain(t *testing.T) {
	s := newFileService(t)
	data, f := content("a", 10)
	_, empty := content("", 0)
	s.registers("app", 2, f, empty, f) // under two names
	s.put("app", f, 0, data, 10)
	if err := s.disk.Remove(s.cfg.Files.Path(f.SHA256)); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Want(t.Context(), &api.Wants{Application: "app", Incarnation: 7}); err != nil || len(r.Missing) != 2 || s.registry.apps["app"].filesReady {
		t.Errorf("%+v, %v", r, err)
	}
	s.put("app", f, 0, data[:4], 4)
	s.put("app", f, 4, data[4:], 10)
	if !s.registry.apps["app"].filesReady {
		t.Error("its files have arrived again, and it is not ready")
	}
}

// The owner goroutine of the frontend waits for the lock, so that nobody may wait for the disk
// with it.
func TestLockIsFreeWhileFilesAreRead(t *testing.T) {
	s := newFileService(t)
	looks := 0
	s.disk.watch = func() {
		looks++
		if !s.mu.TryLock() {
			t.Error("the disk is waited for with the lock")
			return
		}
		s.mu.Unlock()
	}
	data, f := content("a", 10)
	step := func(what string, do func()) {
		t.Helper()
		looks = 0
		if do(); looks == 0 {
			t.Errorf("%s: no file was looked at", what)
		}
	}
	s.registers("app", 1, f)
	step("the last piece", func() { s.put("app", f, 0, data, 10) })
	step("what it wants", func() {
		if _, err := s.Want(t.Context(), &api.Wants{Application: "app", Incarnation: 7}); err != nil {
			t.Error(err)
		}
	})
	step("a registration", func() { s.registers("other", 0, f) })
}

// The room for the files of applications that are over, or were refused, is free.
func TestFilesOfRemovedApplicationsAreTrimmed(t *testing.T) {
	for how, remove := range map[string]func(s *fileService){
		"ended":     func(s *fileService) { _ = s.EndApplication(s.t.Context(), "app", 7) },
		"cancelled": func(s *fileService) { s.Cancel("app", "test") },
		"silent":    func(s *fileService) { s.update(func(reg *registry, now time.Time) { reg.tick(now.Add(time.Minute)) }) },
		"superseded": func(s *fileService) {
			s.update(func(reg *registry, _ time.Time) { reg.supersede(reg.apps["app"]) })
		},
		"refused": func(s *fileService) {
			s.Cancel("app", "test")
			_, f := content("c", 980)
			_, err := s.register("app", f)
			wantProblem(s.t, "an application that was cancelled", err, api.Invalid)
		},
	} {
		for _, sent := range []int{0, 5, 980} {
			t.Run(fmt.Sprint(how, " ", sent), func(t *testing.T) {
				s := newFileService(t)
				data, f := content("a", 980)
				s.registers("app", 1, f)
				if sent > 0 {
					s.put("app", f, 0, data[:sent], int64(sent))
				}
				_, other := content("b", 100)
				_, err := s.register("other", other)
				wantProblem(t, "while it is served", err, api.Busy)
				remove(s)
				s.registers("other", 1, other)
				if sent < 980 {
					_, err = s.PutFile(t.Context(), "app", f.SHA256, int64(sent), data[sent:])
					wantProblem(t, "a piece of a file that was dropped", err, api.NotFound)
				}
			})
		}
	}
}

// The slots of an executor without grants are asked for again when their job was refused, or lost
// tasks, and not otherwise.
func TestHeldSlotsAreAskedForAgain(t *testing.T) {
	s := newFileService(t)
	d := newCluster(t, "a")
	s.registry = d.registry
	r := api.Application{ID: "app", Incarnation: 7, Template: api.Template{Argv: []string{"x"}, Memory: 300}}
	if err := d.register(&r, d.now); err != nil {
		t.Fatal(err)
	}
	d.apps["app"].filesReady = true
	d.wants(1)
	held := func(n int) (key string) {
		t.Helper()
		d.held("a", "1").Held = n
		s.update(func(reg *registry, now time.Time) { reg.applyHoldings("a", d.holds["a"], now, now) })
		return d.apps["app"].executors.byID["1"].holds
	}
	want := func(what string, tasks ...int) {
		t.Helper()
		var got []int
		for _, j := range s.jobs.submitted {
			if j.App != "app/1" || j.Class != sched.Short {
				t.Errorf("%s: submitted %+v", what, j)
			}
			got = append(got, j.Tasks)
		}
		if fmt.Sprint(got) != fmt.Sprint(tasks) || len(s.jobs.cancelled) != max(0, len(tasks)-1) {
			t.Errorf("%s: jobs of %v tasks, want %v; cancelled %q", what, got, tasks, s.jobs.cancelled)
		}
	}
	first := held(0)
	want("it starts", 2)
	s.TaskEnded("app/1", "", "another", true)
	s.TaskEnded("app/2", "", first, true)
	s.TaskEnded("app", "", first, true)
	held(0)
	want("the ends of other jobs", 2)
	for range 2 { // admission has refused the job
		s.TaskEnded("app/1", "", first, true)
	}
	second := held(0)
	want("it was refused", 2, 2)
	s.TaskEnded("app/1", "", second, true)
	held(1)
	want("a task is lost, and the other is still counted", 2, 2, 1)
	held(0)
	want("none is counted", 2, 2, 1, 2)
	last := held(1)
	s.TaskEnded("app/1", "", last, false)
	held(2)
	want("it has its slots", 2, 2, 1, 2)
}

// TestApplicationsOfOneUserAreBounded: an application that is registered while the files of another one
// of the same user are looked up counts.
func TestApplicationsOfOneUserAreBounded(t *testing.T) {
	s := newFileService(t)
	one := Part{1, math.MaxInt64}
	_, file := content("a", 0) // empty files are here at once
	app := func(id string, list ...api.File) *api.Application {
		return &api.Application{ID: id, Incarnation: 7, Submitter: "alice", Template: api.Template{Argv: []string{"x"}, Memory: 1, Files: list}}
	}
	s.disk.watch = func() {
		s.disk.watch = func() {}
		if _, err := s.RegisterWithin(app("meanwhile"), one); err != nil {
			t.Error(err)
		}
	}
	_, err := s.RegisterWithin(app("first", file), one)
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Busy || !strings.Contains(e.What, "user alice has 1 application here") {
		t.Errorf("the second one: %v", err)
	}
	if _, err := s.RegisterWithin(app("meanwhile"), one); err != nil {
		t.Errorf("the first one again: %v", err)
	}
}

// TestFilesOfOneUserAreBounded: the files that the applications of one user announce leave room for those of
// others, before a byte of them has arrived.
func TestFilesOfOneUserAreBounded(t *testing.T) {
	s := newFileService(t)
	most := Part{10, 100}
	register := func(user, id, hash string, size int64) error {
		_, err := s.RegisterWithin(&api.Application{ID: id, Incarnation: 7, Submitter: user,
			Template: api.Template{Argv: []string{"x"}, Memory: 1, Files: []api.File{{Name: "f", SHA256: strings.Repeat(hash, 32), Size: size}}}}, most)
		return err
	}
	for _, c := range []struct {
		user, id, hash string
		size           int64
		problem        api.Problem
		want           string
	}{
		{"alice", "too-large", "0a", 101, api.Invalid, "its files have 101 bytes, more than the limit of 100 for one user"},
		{"alice", "a", "0a", 60, 0, ""},
		{"alice", "b", "0b", 41, api.Busy, "with it the files of the applications of user alice have 101 bytes here, more than the limit of 100 for one user"},
		{"alice", "c", "0a", 60, 0, ""}, // the same file
		{"alice", "a", "0a", 60, 0, ""}, // the same application
		{"alice", "d", "0b", 40, 0, ""},
		{"bob", "e", "0c", 100, 0, ""},
	} {
		err := register(c.user, c.id, c.hash, c.size)
		if e, _ := errors.AsType[*api.Error](err); c.want == "" && err != nil || c.want != "" && (e == nil || e.Problem != c.problem || !strings.Contains(e.What, c.want)) {
			t.Errorf("%s of %s: %v, want %q", c.id, c.user, err, c.want)
		}
	}
}
