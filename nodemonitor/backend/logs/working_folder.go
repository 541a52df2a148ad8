package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Bounds of the list of what is in an attempt's working folder, and of the lists that are made at a time.
const (
	maxListed   = 10_000 // files and folders
	maxListText = 4 << 20
	maxLists    = 4
	maxListsOf  = 2 // one user
)

// errTooMany is the error of a list that would be too long.
var errTooMany = fmt.Errorf("it holds more than %d files and folders, or its list has more than %d bytes", maxListed, maxListText)

// List returns a piece of the list of the regular files in an attempt's working folder, as Read
// does of a stream: a JSON object of [api.TaskFile] a line, in the order of the paths. It leaves out
// whatever is not a regular file, and files that do not belong to the user of the folder. Names that
// are not UTF-8 are only counted, in a last line.
func (s *Store) List(id sched.AttemptID, offset int64, limit int) (Chunk, error) {
	end, err := s.beginList(id)
	if err != nil {
		return Chunk{}, err
	}
	defer end()
	return s.ofFolder(id, offset, limit, "listing its files", func(in *os.Root, owner int, c *Chunk) error {
		text, err := listing(in, owner)
		c.Size = int64(len(text))
		from := min(offset, c.Size)
		c.Data = text[from:min(from+readLimit(limit), c.Size)]
		return err
	})
}

// beginList counts a list that is made, until end is called, or refuses one too many.
func (s *Store) beginList(id sched.AttemptID) (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user := ""
	if e := s.jobs[id.Job][id]; e != nil {
		user = e.user
	}
	own := 0
	for _, u := range s.lists {
		if u == user {
			own++
		}
	}
	if len(s.lists) >= maxLists || own >= maxListsOf {
		return nil, &api.Error{
			Problem: api.Busy, Subject: "attempt " + id.String(), Tried: "listing its files", RetryAfter: 100 * time.Millisecond,
			What: fmt.Sprintf("its node makes as many lists as it does at a time (%d, and %d of one user)", maxLists, maxListsOf), Next: "try again",
		}
	}
	s.lists = append(s.lists, user)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := slices.Index(s.lists, user)
		s.lists = slices.Delete(s.lists, i, i+1)
	}, nil
}

// ReadFile returns a piece of a regular file in an attempt's working folder, as Read does of a
// stream. name is relative to the folder.
func (s *Store) ReadFile(id sched.AttemptID, name string, offset int64, limit int) (Chunk, error) {
	tried := fmt.Sprintf("reading its file %q", name)
	if !fs.ValidPath(name) || name == "." {
		return Chunk{}, &api.Error{Problem: api.Invalid, What: "the path leads out of its working folder, or is not in its shortest form", Subject: "attempt " + id.String(), Tried: tried, Next: "name a file as the list has it"}
	}
	return s.ofFolder(id, offset, limit, tried, func(in *os.Root, owner int, c *Chunk) error {
		if in == nil {
			return fs.ErrNotExist
		}
		f, err := openBelow(in, name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		if info, err := f.Stat(); err != nil || files.Owner(info) != owner {
			return errors.Join(err, fs.ErrPermission) // a link of another user's file
		}
		return c.fill(f, offset, limit)
	})
}

// ofFolder calls read with the working folder of an attempt and the number of its user. The folder is
// nil when there is none: another attempt may have got it if nothing was left there.
func (s *Store) ofFolder(id sched.AttemptID, offset int64, limit int, tried string, read func(in *os.Root, owner int, c *Chunk) error) (Chunk, error) {
	refusal := &api.Error{Problem: api.Invalid, Subject: "attempt " + id.String(), Tried: tried}
	if offset < 0 || limit < 0 {
		refusal.What, refusal.Next = fmt.Sprintf("offset %d, limit %d is not a position", offset, limit), "use an offset and a limit of 0 or more"
		return Chunk{}, refusal
	}
	c, known, err := s.whileKept(id, func(c *Chunk) error { return s.inFolder(id, c, read) })
	if !known {
		return Chunk{}, s.missing(id)
	}
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, fs.ErrNotExist):
		refusal.Problem, refusal.What, refusal.Next = api.NotFound, "there is no such file in its working folder", "list the files it left with `pigeon files`"
	case errors.Is(err, errTooMany), errors.Is(err, files.ErrTooDeep):
		refusal.What, refusal.Next = "its working folder cannot be listed: "+err.Error(), "have the task pack them into one file, and name that"
	case noDescriptor(err):
		refusal.Problem, refusal.What, refusal.Next = api.NotReady, "it cannot be read now: "+err.Error(), tryAgain
	default:
		refusal.What, refusal.Next = "it cannot be read: "+err.Error(), "have the task leave regular files of its own user in its working folder"
	}
	return Chunk{}, refusal
}

// inFolder calls read with the working folder of an attempt and the number of its user, and once more
// without one when another attempt got the folder meanwhile: then it was empty, and what was read may
// be the other's.
func (s *Store) inFolder(id sched.AttemptID, c *Chunk, read func(in *os.Root, owner int, c *Chunk) error) error {
	in, owner, err := s.folderOf(id)
	if in != nil {
		defer func() { _ = in.Close() }() // only read
	}
	if err != nil {
		return err
	}
	piece := *c
	err = read(in, owner, &piece)
	if in != nil && !s.isFolderOf(id, in) {
		piece = *c
		err = read(nil, 0, &piece)
	}
	*c = piece
	return err
}

// isFolderOf reports whether an open folder still is the working folder of an attempt.
func (s *Store) isFolderOf(id sched.AttemptID, in *os.Root) bool {
	now, _, err := s.folderOf(id)
	if now == nil {
		return false
	}
	defer func() { _ = now.Close() }() // only read
	is, err1 := now.Stat(".")
	was, err2 := in.Stat(".")
	return errors.Join(err, err1, err2) == nil && os.SameFile(is, was)
}

// folderOf opens the working folder of an attempt, nil when there is none, and returns the number of
// its user.
func (s *Store) folderOf(id sched.AttemptID) (in *os.Root, owner int, err error) {
	in, err = files.Below(s.cfg.Root, id.Job.String(), attemptName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat(".")
	if err != nil {
		return in, 0, err
	}
	return in, files.Owner(info), nil
}

// listing returns the list of the files in a folder.
func listing(in *os.Root, owner int) ([]byte, error) {
	if in == nil {
		return nil, nil
	}
	var list []api.TaskFile
	seen, unnamed, size := 0, 0, 0
	err := files.Walk(in, func(name string, info fs.FileInfo) error {
		seen++
		size += len(name)
		switch {
		case seen > maxListed || size > maxListText:
			return errTooMany
		case !info.Mode().IsRegular() || files.Owner(info) != owner: // a link of another user's file
		case !fs.ValidPath(name):
			unnamed++
		default:
			list = append(list, api.TaskFile{Path: name, Size: info.Size(), Executable: info.Mode()&0o100 != 0})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b api.TaskFile) int { return strings.Compare(a.Path, b.Path) })
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	for i := range list {
		if err = errors.Join(err, out.Encode(&list[i])); text.Len() > maxListText {
			return nil, errTooMany
		}
	}
	if unnamed > 0 {
		err = errors.Join(err, out.Encode(api.UnlistedFiles{Unlisted: unnamed}))
	}
	return text.Bytes(), err
}

// openBelow opens a regular file below a folder. Nothing on the way is a link.
func openBelow(in *os.Root, name string) (*os.File, error) {
	dir, base := path.Split(name)
	at := in
	for _, step := range strings.FieldsFunc(dir, func(r rune) bool { return r == '/' }) {
		next, err := files.Into(at, step)
		if at != in {
			_ = at.Close() // only passed
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	if at != in {
		defer func() { _ = at.Close() }() // the file has a descriptor of its own
	}
	return files.OpenRegular(at, base)
}
