package keys

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/api"
)

const theKey = "nightly"

// world is some frontends and one bucket. Submissions are goroutines of which one runs at a
// time: it stops before everything that another one could see, and the test decides which of them
// continues, or that its frontend dies there.
type world struct {
	t         *rapid.T
	revision  uint64
	home      Home
	exists    bool
	late      []func() // writes that were reported as failed and are still in progress
	frontends []*frontend
	waiting   []*submission
	events    chan *submission // stopped, or ended
}

// frontend is one name: its journal, and the process that has the name now.
type frontend struct {
	w       *world
	name    string
	journal bool    // has accepted the job
	keeper  *Keeper // nil while no process runs
}

// submission is one call of a client.
type submission struct {
	at     *frontend
	goOn   chan fate
	ended  bool
	answer error // nil: accepted, or known there
}

type fate int

const (
	lives fate = iota
	dies
	// diesLater: its pending write is carried out after its death.
	diesLater
	// fails: the write is reported as failed, and carried out later.
	fails
)

func newWorld(t *rapid.T, n int) *world {
	w := &world{t: t, events: make(chan *submission)}
	for i := range n {
		f := &frontend{w: w, name: string(rune('a' + i))}
		f.start()
		w.frontends = append(w.frontends, f)
	}
	return w
}

func (f *frontend) start() {
	f.keeper = New(Options{Self: Home{Frontend: f.name, Address: f.name + ":1"}, Store: bucketOf{}, Address: func(_ context.Context, h Home) string { return h.Address }})
}

// begin begins a submission, which stops before its first step.
func (w *world) begin(f *frontend) *submission {
	s := &submission{at: f, goOn: make(chan fate)}
	go func() {
		defer func() { s.ended = true; w.events <- s }()
		s.submit(f.keeper)
	}()
	w.await()
	return s
}

// await waits for the goroutine that runs to stop or to end.
func (w *world) await() {
	if s := <-w.events; !s.ended {
		w.waiting = append(w.waiting, s)
	}
}

// step stops until the test continues it; when the process is to die, the goroutine ends.
func (s *submission) step() fate {
	s.at.w.events <- s
	f := <-s.goOn
	if f == dies {
		runtime.Goexit()
	}
	return f
}

// submit is what a frontend does with a submission.
func (s *submission) submit(k *Keeper) {
	s.answer = errors.New("its frontend died")
	s.step()
	if s.at.journal {
		s.answer = nil
		return
	}
	if err := k.Take(context.WithValue(context.Background(), caller{}, s), theKey); err != nil {
		s.answer = err
		return
	}
	if s.step() == diesLater { // the record is on the disk, and no caller learns of it
		s.at.journal = true
		runtime.Goexit()
	}
	s.at.journal, s.answer = true, nil
}

// caller is the key under which a context has the submission.
type caller struct{}

func from(ctx context.Context) *submission { return ctx.Value(caller{}).(*submission) }

// bucketOf is the bucket of the world in which a submission is made.
type bucketOf struct{}

func (bucketOf) Get(ctx context.Context, _ string) (Home, uint64, error) {
	w := from(ctx).at.w
	if from(ctx).step() == fails {
		return Home{}, 0, errors.New("no answer")
	}
	if !w.exists {
		return Home{}, 0, nil
	}
	return w.home, w.revision, nil
}

func (bucketOf) Put(ctx context.Context, _ string, h Home, after uint64) error {
	w := from(ctx).at.w
	write := func() error {
		if w.exists && after != w.revision || !w.exists && after != 0 {
			return ErrConflict
		}
		w.revision++
		w.home, w.exists = h, true
		return nil
	}
	switch from(ctx).step() {
	case diesLater:
		w.late = append(w.late, func() { _ = write() })
		runtime.Goexit()
	case fails:
		w.late = append(w.late, func() { _ = write() })
		return errors.New("no answer")
	}
	return write()
}

// goOn lets a submission that has stopped continue.
func (w *world) goOn(i int, f fate) {
	s := w.waiting[i]
	w.waiting = append(w.waiting[:i], w.waiting[i+1:]...)
	s.goOn <- f
	w.await()
}

// kill ends the process of a frontend, with its submissions.
func (w *world) kill(f *frontend, how fate) {
	f.keeper = nil
	for i := len(w.waiting) - 1; i >= 0; i-- { //nolint:modernize // goOn changes the list
		if w.waiting[i].at == f {
			w.goOn(i, how)
			if how == diesLater {
				how = dies // one of them was the last
			}
		}
	}
	for i := len(w.waiting) - 1; i >= 0; i-- { //nolint:modernize // those that stopped once more; goOn changes the list
		if w.waiting[i].at == f {
			w.goOn(i, dies)
		}
	}
}

// finish lets a submission continue to its end.
func (w *world) finish(s *submission) {
	for !s.ended {
		for i := range w.waiting {
			if w.waiting[i] == s {
				w.goOn(i, lives)
				break
			}
		}
	}
}

func (w *world) homes() (n int) {
	for _, f := range w.frontends {
		if f.journal {
			n++
		}
	}
	return n
}

// A key is one job, whichever frontends it is submitted to and whenever they die; and when all run
// again, each of them accepts it, has it, or names its home.
func TestAKeyIsOneJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.IntRange(2, 3).Draw(t, "frontends"))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			f := rapid.SampledFrom(w.frontends).Draw(t, "frontend")
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case f.keeper == nil:
				f.start()
			case what < 2 && len(w.waiting) < 6:
				w.begin(f)
			case what == 2:
				w.kill(f, rapid.SampledFrom([]fate{dies, diesLater}).Draw(t, "how"))
			case what == 3 && len(w.late) > 0:
				i := rapid.IntRange(0, len(w.late)-1).Draw(t, "late write")
				w.late[i]()
				w.late = append(w.late[:i], w.late[i+1:]...)
			case what == 4 && w.homes() == 0 && len(w.waiting) == 0:
				w.exists = false // it lapsed
			case len(w.waiting) > 0:
				w.goOn(rapid.IntRange(0, len(w.waiting)-1).Draw(t, "submission"), rapid.SampledFrom([]fate{lives, lives, lives, fails}).Draw(t, "fate"))
			}
			if n := w.homes(); n > 1 {
				t.Fatalf("%d frontends have accepted the job", n)
			}
		}
		for len(w.waiting) > 0 {
			w.goOn(0, lives)
		}
		for _, f := range w.frontends {
			if f.keeper == nil {
				f.start()
			}
		}
		for _, f := range w.frontends {
			s := w.begin(f)
			w.finish(s)
			e, refused := errors.AsType[*api.Error](s.answer)
			if s.answer != nil && (!refused || e.Problem != api.NotReady || e.Address == "") || s.answer == nil && !f.journal {
				t.Fatalf("submitted at %s when all run: %v", f.name, s.answer)
			}
		}
		if n := w.homes(); n != 1 {
			t.Fatalf("%d frontends have accepted the job", n)
		}
	})
}
