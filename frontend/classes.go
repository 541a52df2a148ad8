package frontend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// saveClassesEvery is how often what was learned is saved. What a process learned since is
// lost with it when it is killed, and is learned again. It is shortened by tests.
var saveClassesEvery = time.Minute

// classesFile is where a frontend saves what it has learned of the classes of jobs. It is no
// part of the journal: nothing that is owed depends on it.
type classesFile struct {
	learner *classes.Learner // of the owner goroutine
	saved   uint64           // its changes up to the last save
	disk    store.FS
	path    string
	log     *slog.Logger
}

// newLearner makes the learner, which knows nothing yet.
func (f *Frontend) newLearner() *classes.Learner {
	f.classes = classesFile{
		learner: classes.New(classes.Settings{Cutoff: sched.Time(f.cfg.Cutoff), Default: f.cfg.defaultClass(), Declared: f.cfg.Classes == declared}),
		disk:    store.HostFS(), path: filepath.Join(f.cfg.Data, "classes"), log: f.log,
	}
	return f.classes.learner
}

// load reads what an earlier process saved. A file that cannot be read is put aside and
// reported, and the learner begins empty.
func (c *classesFile) load() {
	saved, err := store.ReadFile(c.disk, c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	next := "look at the disk; jobs that declare no class are learned anew"
	if err == nil {
		if err = c.learner.Load(saved); err == nil {
			return
		}
		aside := c.path + ".damaged"
		next = fmt.Sprintf("nothing needs to be done: it is kept as %s, and jobs that declare no class are learned anew", aside)
		err = errors.Join(err, c.disk.Rename(c.path, aside))
	}
	c.log.Error("what was learned of the classes of jobs is lost", "error", c.fault(err, "reading it", next))
}

// learning is what a learner knows after so many changes.
type learning struct {
	changes uint64
	bytes   []byte // nil when it is saved already
}

// unsaved returns what is to be saved. It belongs to the owner goroutine.
func (c *classesFile) unsaved() learning {
	l := learning{changes: c.learner.Changes()}
	if l.changes != c.saved {
		l.bytes = c.learner.Save()
	}
	return l
}

// save writes what is to be saved in place of what was saved before. It must not be called
// while unsaved is.
func (c *classesFile) save(l learning) {
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
		c.log.Error("what was learned of the classes of jobs was not saved", "error", c.fault(err, "saving it", "see to the disk; the frontend tries again in a minute"))
		return
	}
	c.saved = l.changes
}

func (c *classesFile) fault(err error, tried, next string) error {
	return &api.Error{Problem: api.Internal, What: err.Error(), Subject: "file " + c.path, Tried: tried, Next: next}
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
			if l, err := daemon.Ask(ctx, f.mailbox, "saving what was learned of the classes of jobs", f.classes.unsaved); err == nil {
				f.classes.save(l)
			}
		}
	}
}
