package executors

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// kept has the outputs of executors whose application is over, so that links to them, such as those of
// Spark's history server, lead somewhere for as long as outputs of tasks are kept:
//
//	root/APPLICATION/EXECUTOR/stdout, stdout.1, stderr ...
//	root/APPLICATION/,of      whose they are; its time is the end of the application
//
// The folders belong to the node monitor: what an executor has left behind cannot change them.
type kept struct {
	root      string
	retention time.Duration
	limit     int64 // bytes of all; beyond them the oldest of the submitter that has most goes first
	log       *slog.Logger
	mu        sync.Mutex // of changes
}

// ofFile is the file in the folder of an application that states its id and its submitter, a line each.
// No executor can have its name.
const ofFile = ",of"

// writeOf states whose a folder of an application is.
func writeOf(folder, app, submitter string) error {
	return os.WriteFile(filepath.Join(folder, ofFile), []byte(app+"\n"+submitter), 0o600)
}

// of returns whose a folder of an application is, "" when it does not say.
func of(folder string) (app, submitter string) {
	text, err := os.ReadFile(filepath.Join(folder, ofFile))
	if err != nil {
		return "", ""
	}
	app, submitter, _ = strings.Cut(string(text), "\n")
	return app, submitter
}

// take moves the outputs in the folder of an application that is over, which is out of the way of a next one.
func (k *kept) take(folder string) {
	app, submitter := of(folder)
	if !api.IsApplicationID(app) {
		return // it never had an executor
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	err := files.RemoveAll(k.root, app) // of an earlier one of the same id
	if err == nil {
		err = files.MakeFolder(k.root, app)
	}
	if err == nil {
		err = writeOf(filepath.Join(k.root, app), app, submitter)
	}
	entries, e := os.ReadDir(folder)
	for _, x := range entries {
		if x.IsDir() && api.IsApplicationID(x.Name()) {
			err = errors.Join(err, k.takeExecutor(folder, app, x.Name()))
		}
	}
	if err = errors.Join(err, e); err != nil {
		k.log.Warn("outputs of executors whose application is over could not be kept", "application", app, "folder", folder, "error", err)
	}
}

func (k *kept) takeExecutor(folder, app, id string) error {
	in, err := files.Below(folder, id)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	if err := files.MakeFolder(k.root, app, id); err != nil {
		return err
	}
	for _, stream := range []string{"stdout", "stderr"} {
		for i := range rotations + 1 {
			name := outputName(stream, i)
			// Something else in its place stays behind, and is removed with the folder.
			if info, e := in.Lstat(name); e == nil && info.Mode().IsRegular() {
				err = errors.Join(err, os.Rename(filepath.Join(folder, id, name), filepath.Join(k.root, app, id, name)))
			}
		}
	}
	return err
}

// trim removes what is too old or too much.
func (k *kept) trim(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	type entry struct {
		app, submitter string
		ended          time.Time
		bytes          int64
	}
	var list []entry
	all, by := int64(0), map[string]int64{}
	names, err := os.ReadDir(k.root)
	for _, n := range names {
		e := entry{app: n.Name()}
		info, missing := os.Lstat(filepath.Join(k.root, e.app, ofFile))
		if missing != nil || now.Sub(info.ModTime()) > k.retention {
			err = errors.Join(err, files.RemoveAll(k.root, e.app))
			continue
		}
		e.ended = info.ModTime()
		_, e.submitter = of(filepath.Join(k.root, e.app))
		if in, opened := files.Below(k.root); opened == nil {
			e.bytes = files.Size(in, e.app)
			_ = in.Close() // only read
		}
		list, all, by[e.submitter] = append(list, e), all+e.bytes, by[e.submitter]+e.bytes
	}
	for all > k.limit && len(list) > 1 {
		at := 0
		for i := range list {
			if cmp.Or(cmp.Compare(by[list[at].submitter], by[list[i].submitter]), list[i].ended.Compare(list[at].ended)) < 0 {
				at = i
			}
		}
		e := list[at]
		err = errors.Join(err, files.RemoveAll(k.root, e.app))
		list, all, by[e.submitter] = slices.Delete(list, at, at+1), all-e.bytes, by[e.submitter]-e.bytes
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.log.Warn("outputs of executors whose application is over could not be removed; remove them by hand", "folder", k.root, "error", err)
	}
}
