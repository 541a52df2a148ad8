package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// left returns what is listed of an attempt, read in pieces of a few bytes.
func left(t *testing.T, s *Store, id sched.AttemptID) (found []api.TaskFile) {
	found, _ = listed(t, s, id)
	return found
}

// listed returns the list and how many files are left out.
func listed(t *testing.T, s *Store, id sched.AttemptID) (found []api.TaskFile, unnamed int) {
	t.Helper()
	var text []byte
	for {
		c, err := s.List(id, int64(len(text)), 7)
		must(t, err)
		if len(c.Data) == 0 {
			break
		}
		text = append(text, c.Data...)
	}
	for line := range strings.Lines(string(text)) {
		var f struct {
			api.TaskFile
			api.UnlistedFiles
		}
		must(t, json.Unmarshal([]byte(line), &f))
		if unnamed += f.Unlisted; f.Path != "" {
			found = append(found, f.TaskFile)
		}
	}
	return found, unnamed
}

// The files in a working folder are listed and read, also while the attempt runs. Links and
// their targets are not.
func TestFilesThatATaskLeft(t *testing.T) {
	s, _ := open(t, Config{})
	id := attempt(0, 1)
	if _, err := s.List(id, 0, 0); !refusedAs(err, api.NotFound) {
		t.Errorf("of an unknown attempt: %v", err)
	}
	f, err := begin(s, id)
	must(t, err)
	if got := left(t, s, id); got != nil {
		t.Errorf("without a folder: %+v", got)
	}
	if _, err := s.ReadFile(id, "out.txt", 0, 0); !refusedAs(err, api.NotFound) {
		t.Errorf("a file without a folder: %v", err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	must(t, os.MkdirAll(filepath.Join(f.Folder, "a", "b"), 0o700))
	must(t, os.WriteFile(filepath.Join(f.Folder, "a", "b", "out.txt"), []byte("0123456789"), 0o600))
	must(t, os.WriteFile(filepath.Join(f.Folder, "run"), nil, 0o700)) //nolint:gosec // as programs are
	must(t, os.WriteFile(filepath.Join(f.Folder, "no\xffname"), nil, 0o600))
	must(t, os.Symlink(secret, filepath.Join(f.Folder, "link")))
	must(t, os.Symlink(filepath.Dir(secret), filepath.Join(f.Folder, "folder")))
	must(t, syscall.Mkfifo(filepath.Join(f.Folder, "pipe"), 0o600))
	want := []api.TaskFile{{Path: "a/b/out.txt", Size: 10}, {Path: "run", Executable: true}}
	if got, unnamed := listed(t, s, id); !slices.Equal(got, want) || unnamed != 1 {
		t.Errorf("listed %+v, want %+v; %d are left out", got, want, unnamed)
	}
	if c, err := s.ReadFile(id, "a/b/out.txt", 3, 4); err != nil || string(c.Data) != "3456" || c.Size != 10 || c.Ended {
		t.Errorf("read %+v, %v", c, err)
	}
	s.End(id, true)
	if c, err := s.ReadFile(id, "run", 0, 0); err != nil || len(c.Data) != 0 || !c.Ended {
		t.Errorf("read %+v, %v", c, err)
	}
	for _, name := range []string{"link", "folder/secret", "pipe", "a", "a/b/out.txt/x", "../0.1.out", "/etc/passwd", "a/../run", "", ".", "none", "a/none"} {
		if c, err := s.ReadFile(id, name, 0, 0); !refusedAs(err, api.Invalid) && !refusedAs(err, api.NotFound) || len(c.Data) > 0 {
			t.Errorf("%q: read %+v, %v", name, c, err)
		}
	}
	if _, err := s.ReadFile(id, "run", -1, 0); !refusedAs(err, api.Invalid) {
		t.Errorf("before the beginning: %v", err)
	}
}

// What is read while an attempt is dropped is not shown as all that it left: its files are gone.
func TestReadWhileAnAttemptIsDropped(t *testing.T) {
	for name, read := range map[string]func(s *Store, drop func()) (Chunk, error){
		"output": func(s *Store, drop func()) (Chunk, error) {
			c, known, err := s.whileKept(attempt(0, 1), func(c *Chunk) error {
				drop()
				return s.readStream(attempt(0, 1), Stdout, 0, 0, c)
			})
			if !known {
				err = s.missing(attempt(0, 1))
			}
			return c, err
		},
		"files": func(s *Store, drop func()) (Chunk, error) {
			return s.ofFolder(attempt(0, 1), 0, 0, "listing its files", func(in *os.Root, owner int, c *Chunk) (err error) {
				drop()
				c.Data, err = listing(in, owner)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := open(t, Config{})
			write(t, s, attempt(0, 1), 10)
			c, err := read(s, func() {
				clock.now = clock.now.Add(2 * time.Hour)
				sweep(t, s)
			})
			if !refusedAs(err, api.NotFound) || !strings.Contains(err.Error(), "no logs of it") {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}

// The folder of an attempt that left nothing may become another one's while it is read: what is in it
// then was not left by the first.
func TestReadWhileAFolderIsGivenAway(t *testing.T) {
	s, clock := open(t, Config{})
	f := runIn(t, s, attempt(0, 1))
	s.End(attempt(0, 1), true)
	clock.now = clock.now.Add(spareAfter)
	gives := true
	c, err := s.ofFolder(attempt(0, 1), 0, 0, "listing its files", func(in *os.Root, owner int, c *Chunk) (err error) {
		if gives {
			gives = false
			of := spare(t, s, f.Folder)
			next, err := begin(s, attempt(1, 1))
			must(t, errors.Join(err, os.Rename(f.Folder, next.Folder), os.WriteFile(filepath.Join(next.Folder, "secret"), nil, 0o600)))
			s.Taken(of)
		}
		c.Data, err = listing(in, owner)
		return err
	})
	if err != nil || len(c.Data) != 0 || !c.Ended {
		t.Errorf("%q, %v", c.Data, err)
	}
}

// A link of another user's file is neither listed nor read: the node monitor may read what its
// user may not.
func TestFilesOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	s, _ := open(t, Config{})
	f, err := begin(s, attempt(0, 1))
	must(t, err)
	must(t, os.Mkdir(f.Folder, 0o700))
	must(t, os.WriteFile(filepath.Join(f.Folder, "shadow"), []byte("secret"), 0o600))
	must(t, os.Chown(f.Folder, 65534, 65534))
	if got := left(t, s, attempt(0, 1)); got != nil {
		t.Errorf("listed %+v", got)
	}
	if c, err := s.ReadFile(attempt(0, 1), "shadow", 0, 0); !refusedAs(err, api.Invalid) || len(c.Data) > 0 {
		t.Errorf("read %+v, %v", c, err)
	}
}

// Files in a folder whose name is not UTF-8 are counted as those whose own name is not, and their
// bytes are counted too.
func TestFolderWhoseNameIsNoText(t *testing.T) {
	s, _ := open(t, Config{})
	f, err := begin(s, attempt(0, 1))
	must(t, err)
	folder := filepath.Join(f.Folder, "caf\xe9", "menus")
	must(t, os.MkdirAll(folder, 0o700))
	for _, name := range []string{"monday", "tuesday"} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte("12345"), 0o600))
	}
	if found, unnamed := listed(t, s, attempt(0, 1)); len(found) > 0 || unnamed != 2 {
		t.Errorf("listed %v, and %d that have no name; want 2", found, unnamed)
	}
	s.End(attempt(0, 1), false)
	sweep(t, s)
	if s.ended.bytes() != 10 {
		t.Errorf("%d bytes are counted", s.ended.bytes())
	}
}

// Folders that are nested without an end are not listed, and the attempt's logs are dropped.
func TestNestedFolders(t *testing.T) {
	s, clock := open(t, Config{})
	f, err := begin(s, attempt(0, 1))
	must(t, err)
	path := f.Folder
	for range 300 {
		path = filepath.Join(path, "d")
	}
	must(t, os.MkdirAll(path, 0o700))
	if _, err := s.List(attempt(0, 1), 0, 0); !refusedAs(err, api.Invalid) || !strings.Contains(err.Error(), "256 deep") {
		t.Errorf("%v", err)
	}
	s.End(attempt(0, 1), false)
	clock.now = clock.now.Add(2 * time.Hour)
	sweep(t, s)
	if exists(f.Folder) {
		t.Error("it stays")
	}
}

// A folder with more files than are listed is refused with the limit.
func TestTooManyFiles(t *testing.T) {
	s, _ := open(t, Config{})
	f, err := begin(s, attempt(0, 1))
	must(t, err)
	must(t, os.Mkdir(f.Folder, 0o700))
	for i := range maxListed + 1 {
		must(t, os.Symlink("nowhere", filepath.Join(f.Folder, fmt.Sprint(i))))
	}
	if _, err := s.List(attempt(0, 1), 0, 0); !refusedAs(err, api.Invalid) || !strings.Contains(err.Error(), "more than 10000 files") {
		t.Errorf("%v", err)
	}
}

func refusedAs(err error, p api.Problem) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Problem == p && e.What != "" && e.Next != ""
}

// Few lists are made at a time, and fewer of one user: a list takes memory.
func TestListsAtATime(t *testing.T) {
	s, _ := open(t, Config{})
	users := []string{"alice", "bob", "carol"}
	for i, user := range users {
		writeFor(t, s, user, attempt(int32(i), 1), 10)
	}
	busy := func(user int) bool {
		_, err := s.List(attempt(int32(user), 1), 0, 0)
		if err != nil && !refusedAs(err, api.Busy) {
			t.Error(err)
		}
		return err != nil
	}
	var ends []func()
	for _, user := range []int32{0, 0, 1, 1} {
		if busy(int(user)) {
			t.Errorf("%s is refused while %d lists are made", users[user], len(ends))
		}
		end, err := s.beginList(attempt(user, 1))
		must(t, err)
		ends = append(ends, end)
		if own := len(ends) == 2; own && (!busy(0) || busy(1)) {
			t.Error("who has two lists made is not refused, or another user is")
		}
	}
	if !busy(2) {
		t.Error("a fifth list is made")
	}
	for _, end := range ends {
		end()
	}
	if busy(0) || busy(2) || len(s.lists) != 0 {
		t.Errorf("refused when no list is made; %q are left", s.lists)
	}
}
