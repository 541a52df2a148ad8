package executors

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// localFolder is where an executor keeps local files (shuffle, spilled data) below its own folder, on
// a node without local_dirs.
const localFolder = "local"

// localsVariable tells an executor of Spark where it keeps local files: folders, with a colon
// between them.
const localsVariable = "SPARK_EXECUTOR_DIRS"

// makeRoots makes a folder for the local files of executors in each of local_dirs, without what an
// earlier process has left there, and returns them. One that cannot be used is left out, as a worker
// of Spark standalone does: a broken disk leaves the node with the others.
func makeRoots(cfg *Config) ([]string, error) {
	var roots []string
	var last error
	for _, dir := range cfg.LocalDirs {
		name := "pigeon.executors." + cfg.Node
		root := filepath.Join(dir, name)
		err := files.RemoveAll(dir, name)
		if err == nil {
			err = os.Mkdir(root, files.Private) // nobody else has made one meanwhile
		}
		if err == nil {
			err = os.Chmod(root, folderMode(cfg.Accounts))
		}
		if err != nil {
			last = err
			cfg.Logger.Warn("one of local_dirs cannot be used; executors keep their local files in the others", "folder", dir, "error", err)
			continue
		}
		roots = append(roots, root)
	}
	if len(roots) == 0 && last != nil {
		return nil, &api.Error{Problem: api.Invalid, What: "none of local_dirs can be used: " + last.Error(), Subject: "folders " + strings.Join(cfg.LocalDirs, ", "), Tried: "making room for executors", Next: "mount the disks and allow the folders to this user, or name others; without local_dirs executors use work_dir"}
	}
	return roots, nil
}

// makeLocals makes the folders for the executor's local files and returns its variable for them, ""
// on a node without local_dirs. One that cannot be made is left out.
func (p *preparation) makeLocals() (variable string, refused *end) {
	x := p.x
	var made []string
	var last error
	for _, root := range p.roots {
		_, err := os.Lstat(root) // the one below the mount point of a disk that is gone is not made
		if err == nil {
			err = files.MakeFolder(root, x.app.ID, x.id)
		}
		if err == nil {
			err = p.giveFolder(root)
		}
		if err != nil {
			last = err
			p.cfg.Logger.Warn("an executor has no local files in one of local_dirs", "application", x.app.ID, "executor", x.id, "folder", root, "error", err)
			continue
		}
		made = append(made, filepath.Join(root, x.app.ID, x.id))
	}
	switch {
	case len(made) > 0:
		return localsVariable + "=" + strings.Join(made, ":"), nil
	case last != nil:
		return "", x.refusal("it can keep local files in none of the node's local_dirs: "+last.Error(), "making its folders there", "free disk space on the node, or give it other local_dirs")
	}
	return "", nil
}

// retireLocals removes the local files of an executor.
func (f *folders) retireLocals(app, id string) {
	f.retire(f.root, app, id, localFolder)
	for _, root := range f.locals {
		f.retire(root, app, id)
	}
}

// LocalDirsFault returns what is wrong with a list of local_dirs, "" for nothing.
func LocalDirsFault(dirs []string) string {
	for i, dir := range dirs {
		switch {
		case !filepath.IsAbs(dir):
			return "use full paths, not \"" + dir + "\""
		case strings.Contains(dir, ":"):
			return "executors get the folders with a colon between them: use paths without one, not \"" + dir + "\""
		case slices.ContainsFunc(dirs[:i], func(d string) bool { return filepath.Clean(d) == filepath.Clean(dir) }):
			return "name each folder once, not \"" + dir + "\" twice"
		}
	}
	return ""
}
