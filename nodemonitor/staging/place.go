package staging

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// Place is a working folder, which nobody but this process may write in yet.
type Place struct {
	Folder string
	Others bool // the files are another user's than this process's
	UID    int
	GID    int

	list  []api.StagedFile // that were put there
	mtime time.Time        // of all of them
	ctime time.Time        // of the last one
}

// RemoveUnchanged removes the copies that are as they were put there, when the attempt has ended: its outputs are
// what it left. What was written, renamed or linked since has another time, or another name.
func (p *Place) RemoveUnchanged() {
	in, err := files.Below(filepath.Dir(p.Folder), filepath.Base(p.Folder))
	if err != nil {
		return // gone, or something else in its place
	}
	defer func() { _ = in.Close() }() // only passed
	for i := range p.list {
		f := &p.list[i]
		info, err := in.Lstat(f.Name)
		if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size || !info.ModTime().Equal(p.mtime) || changed(info).After(p.ctime) {
			continue
		}
		_ = in.Remove(f.Name) // what stays counts as what was left
		for dir := path.Dir(f.Name); dir != "." && in.Remove(dir) == nil; dir = path.Dir(dir) {
			continue // it was made for the file, and is empty
		}
	}
}

// changed returns when the name or the content of a file changed last.
func changed(info fs.FileInfo) time.Time {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Now()
	}
	return time.Unix(s.Ctim.Unix())
}

// put makes the folder and copies the files into it; path returns where the content of a hash is.
func (p *Place) put(ctx context.Context, list []api.StagedFile, content func(sha256 string) string) error {
	if err := files.MakeFolder(filepath.Dir(p.Folder), filepath.Base(p.Folder)); err != nil {
		return err
	}
	in, err := os.OpenRoot(p.Folder)
	if err != nil {
		return err
	}
	made := map[string]bool{".": true}
	now := time.Now() // finer than the times that the kernel gives to what is written
	for i := range list {
		f := &list[i]
		if err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = p.makeFolders(in, path.Dir(f.Name), made)
		}
		if err == nil {
			err = p.copy(in, f, content(f.SHA256))
		}
		if err == nil {
			err = in.Chtimes(f.Name, now, now)
		}
	}
	if err == nil && len(list) > 0 {
		var info fs.FileInfo
		if info, err = in.Lstat(list[len(list)-1].Name); err == nil {
			p.list, p.mtime, p.ctime = list, info.ModTime(), changed(info)
		}
	}
	return errors.Join(err, in.Close())
}

// makeFolders makes a folder and those above it that are not made yet.
func (p *Place) makeFolders(in *os.Root, name string, made map[string]bool) error {
	if made[name] {
		return nil
	}
	err := p.makeFolders(in, path.Dir(name), made)
	if err == nil {
		err = in.Mkdir(name, 0o755)
	}
	if err == nil && p.Others {
		err = in.Lchown(name, p.UID, p.GID)
	}
	made[name] = true
	return err
}

// copy copies a file. A process that is forked meanwhile may have the copy open for a moment, and the kernel runs no
// file that somebody has open for writing: the guard tries again then.
func (p *Place) copy(in *os.Root, f *api.StagedFile, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only read
	to, err := in.OpenFile(f.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, source)
	if err == nil && n != f.Size {
		err = &fs.PathError{Op: "copy", Path: f.Name, Err: io.ErrUnexpectedEOF}
	}
	mode := fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	if err == nil {
		err = to.Chmod(mode)
	}
	if err == nil && p.Others {
		err = to.Chown(p.UID, p.GID)
	}
	return errors.Join(err, to.Close())
}
