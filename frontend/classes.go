package frontend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// saveClassesEvery is how often what was learned is saved. What a process learned since is
// lost with it when it is killed, and is learned again. It is shortened by tests.
var saveClassesEvery = time.Minute

// learnedFile is where a frontend saves a part of what its learner knows. It is no part of the
// journal: nothing that is owed depends on it.
type learnedFile struct {
	what    string // is in the file
	without string // happens without it
	// changes, encode and decode belong to the owner goroutine, as the learner does.
	changes func() uint64
	encode  func() []byte
	decode  func([]byte) error
	saved   uint64 // the changes up to the last save
	disk    store.FS
	path    string
	log     *slog.Logger
}

// newLearning makes the learner, which knows nothing yet, and its files.
func (f *Frontend) newLearning(clock runloop.Clock) *learning {
	l := classes.New(classes.Settings{Cutoff: sched.Time(f.cfg.Cutoff), Default: f.cfg.defaultClass(), Declared: f.cfg.Classes == declared})
	works := learnedFile{
		what: "what was learned of the classes of jobs", without: "jobs that declare no class are learned anew",
		changes: l.Changes, encode: l.Save, decode: l.Load,
		disk: store.HostFS(), path: filepath.Join(f.cfg.Data, "classes"), log: f.log,
	}
	overruns := works
	overruns.what, overruns.without = "what was counted of the short tasks of owners", "each owner is believed until 20 of its tasks have ended"
	overruns.changes, overruns.path = l.OverrunChanges, filepath.Join(f.cfg.Data, "overruns")
	overruns.encode = func() []byte { return l.SaveOverruns(clock.Now()) }
	overruns.decode = func(saved []byte) error { return l.LoadOverruns(clock.Now(), saved) }
	f.learned = []*learnedFile{&works, &overruns}
	return &learning{Learner: l, clock: clock, jobs: map[*jobs.Job]lesson{}}
}

// load reads what an earlier process saved. A file that cannot be read is put aside and
// reported, and the learner begins without it.
func (c *learnedFile) load() {
	saved, err := store.ReadFile(c.disk, c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	next := "look at the disk; " + c.without
	if err == nil {
		if err = c.decode(saved); err == nil {
			return
		}
		aside := c.path + ".damaged"
		next = fmt.Sprintf("nothing needs to be done: it is kept as %s, and %s", aside, c.without)
		err = errors.Join(err, c.disk.Rename(c.path, aside))
	}
	c.log.Error(c.what+" is lost", "error", notSaved(c.path, err, "reading it", next))
}

// snapshot is what a learner knows after so many changes.
type snapshot struct {
	changes uint64
	bytes   []byte // nil when it is saved already
}

// unsaved returns what is to be saved. It belongs to the owner goroutine.
func (c *learnedFile) unsaved() snapshot {
	l := snapshot{changes: c.changes()}
	if l.changes != c.saved {
		l.bytes = c.encode()
	}
	return l
}

// save writes what is to be saved in place of what was saved before. It must not be called
// while unsaved is.
func (c *learnedFile) save(l snapshot) {
	if l.bytes == nil {
		return
	}
	err := store.WriteFile(c.disk, c.path+".new", string(l.bytes))
	if err == nil {
		err = c.disk.Rename(c.path+".new", c.path)
	}
	if err == nil {
		err = store.SyncFolder(c.disk, filepath.Dir(c.path))
	}
	if err != nil {
		c.log.Error(c.what+" was not saved", "error", notSaved(c.path, err, "saving it", "see to the disk; the frontend tries again in a minute"))
		return
	}
	c.saved = l.changes
}

// loadLearned reads what an earlier process learned.
func (f *Frontend) loadLearned() {
	for _, c := range f.learned {
		c.load()
	}
}

// saveLearned saves what was learned, when the owner goroutine has ended.
func (f *Frontend) saveLearned() {
	for _, c := range f.learned {
		c.save(c.unsaved())
	}
}

// saveClasses saves what was learned once a minute until ctx is done.
func (f *Frontend) saveClasses(ctx context.Context) {
	tick := time.NewTicker(saveClassesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, c := range f.learned {
				if l, err := daemon.Ask(ctx, f.mailbox, "saving "+c.what, c.unsaved); err == nil {
					c.save(l)
				}
			}
		}
	}
}
