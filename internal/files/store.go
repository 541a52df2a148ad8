package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// partSuffix ends the name of a file that is not whole.
const partSuffix = ".part"

// Store is a folder of files by hash. All methods may be called from any
// goroutine; those that write to the disk exclude each other.
type Store struct {
	disk  vfs.FS
	root  string
	limit int64 // bytes of all files together; a file beyond it is refused
	texts Texts

	mu       sync.Mutex
	files    map[string]*entry
	incoming int64  // bytes of the files that are on their way by [Incoming]
	received uint64 // of these, also earlier ones
	order    uint64
	stats    Stats
}

// Texts are how the errors of a store name what it keeps, and what they advise.
type Texts struct {
	One, Many string
	Room      string // when there is no room for another one
	Announce  string // when one was not announced
	Again     string // when one is not here
}

// ofApplications are the texts of files that applications send for their executors.
func ofApplications() Texts {
	return Texts{
		One: "file of an application", Many: "files of applications", Room: "end applications that need others, or raise the limit",
		Announce: "register the application with this file first", Again: "have the application send it again",
	}
}

// entry is a file that is complete or expected.
//
// Invariant: have == size exactly when the file is in its place.
type entry struct {
	size int64
	have int64
	used uint64 // order of its last use

	checking sync.Mutex // held while the content is read; taken before the lock of the store
	checked  look       // the file as it was when its content had the right hash
}

// Open opens or creates the folder and finds the files that an earlier process left in
// it. limit bounds the bytes of all files.
func Open(root string, limit int64) (*Store, error) { return OpenOn(vfs.Default, root, limit) }

// OpenFor is Open for other files than those of applications.
func OpenFor(texts Texts, root string, limit int64) (*Store, error) {
	return open(vfs.Default, texts, root, limit)
}

// OpenOn is Open on another disk than this host's.
func OpenOn(disk vfs.FS, root string, limit int64) (*Store, error) {
	return open(disk, ofApplications(), root, limit)
}

func open(disk vfs.FS, texts Texts, root string, limit int64) (*Store, error) {
	s := &Store{disk: disk, root: root, limit: limit, texts: texts, files: map[string]*entry{}}
	if err := disk.MkdirAll(root, 0o700); err != nil {
		return nil, s.problem("the folder cannot be created: "+err.Error(), "opening the "+texts.Many)
	}
	list, err := disk.List(root)
	if err != nil {
		return nil, s.problem("the folder cannot be read: "+err.Error(), "opening the "+texts.Many)
	}
	for _, name := range list {
		if info, err := disk.Stat(s.Path(name)); err == nil && api.IsSHA256(name) && info.Mode().IsRegular() {
			s.files[name] = &entry{size: info.Size(), have: info.Size()}
			continue
		}
		if filepath.Ext(name) == partSuffix {
			_ = disk.Remove(s.Path(name)) // what stays is overwritten
		}
	}
	return s, nil
}

// Expect announces a file. It is refused when the store has no room.
func (s *Store) Expect(f api.File) error {
	s.check(f.SHA256)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.files[f.SHA256]; e != nil {
		if e.size == f.Size {
			s.touch(e)
			return nil
		}
		return s.wrong(f.SHA256, api.Invalid, fmt.Sprintf("it is known with %d bytes, not %d", e.size, f.Size), "send its actual hash and size")
	}
	if err := s.room(&f); err != nil {
		return err
	}
	e := &entry{size: f.Size}
	s.files[f.SHA256] = e
	s.touch(e)
	if f.Size == 0 {
		return s.grow(f.SHA256, e, nil)
	}
	return nil
}

// room returns an error when there is none for a file. It needs the lock.
func (s *Store) room(f *api.File) error {
	all := s.bytes() + f.Size
	if all <= s.limit {
		return nil
	}
	return s.wrong(f.SHA256, api.Busy, fmt.Sprintf("with its %d bytes the %s here have %d, more than the limit of %d", f.Size, s.texts.Many, all, s.limit), s.texts.Room)
}

// bytes returns those of all files, also of those that are to come. It needs the lock.
func (s *Store) bytes() int64 {
	all := s.incoming
	for _, e := range s.files {
		all += e.size
	}
	return all
}

// touch needs the lock.
func (s *Store) touch(e *entry) {
	s.order++
	e.used = s.order
}

// Has reports whether the file is complete and has the right content.
func (s *Store) Has(sha string) bool { return s.check(sha) }

// Put appends a piece to an expected file and returns how many bytes have arrived.
// A piece that does not begin there changes nothing: the sender continues from the
// answer.
func (s *Store) Put(sha string, offset int64, data []byte) (have int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.files[sha]
	switch {
	case e == nil:
		return 0, s.wrong(sha, api.NotFound, "it was not announced", s.texts.Announce)
	case len(data) > api.MaxPiece:
		return e.have, s.wrong(sha, api.Invalid, fmt.Sprintf("a piece has %d bytes, the limit is %d", len(data), api.MaxPiece), "send smaller pieces")
	case offset != e.have || len(data) == 0 || e.have == e.size:
		return e.have, nil
	case e.have+int64(len(data)) > e.size:
		return e.have, s.wrong(sha, api.Invalid, fmt.Sprintf("it grows beyond the %d bytes announced", e.size), "announce it with its size")
	}
	err = s.grow(sha, e, data)
	return e.have, err
}

// grow appends to a file and puts it into its place when it is whole. It needs
// the lock.
func (s *Store) grow(sha string, e *entry, data []byte) error {
	part := s.Path(sha) + partSuffix
	if err := s.write(part, e.have, data); err != nil {
		return s.wrong(sha, api.Internal, "it cannot be written: "+err.Error(), "free disk space below "+s.root)
	}
	e.have += int64(len(data))
	if e.have < e.size {
		return nil
	}
	if err := s.moveToPlace(sha, e, part); err != nil {
		e.have = 0
		return err
	}
	return nil
}

// write writes a piece of a file that is not whole.
func (s *Store) write(part string, offset int64, data []byte) error {
	open := s.disk.Create // without what an earlier file of the name held
	if offset > 0 {
		open = func(name string, c vfs.DiskWriteCategory) (vfs.File, error) { return s.disk.OpenReadWrite(name, c) }
	}
	f, err := open(part, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		_, err = f.WriteAt(data, offset)
	}
	return errors.Join(err, f.Close())
}

// moveToPlace gives a complete file its final name when its hash is right. The name
// becomes durable only after the content: after a power failure it may be missing, but
// a file that has it is whole. It needs the lock.
func (s *Store) moveToPlace(sha string, e *entry, part string) error {
	got, err := s.sum(part)
	switch {
	case err != nil:
		return s.wrong(sha, api.Internal, "it cannot be read back: "+err.Error(), "see the disk below "+s.root)
	case got != sha:
		return s.wrong(sha, api.Invalid, "the bytes received have the SHA-256 "+got, "send it again from its first byte")
	}
	err = s.sync(s.disk.OpenReadWrite(part, vfs.WriteCategoryUnspecified))
	if err == nil {
		err = s.disk.Rename(part, s.Path(sha))
	}
	if err == nil {
		err = s.sync(s.disk.OpenDir(s.root))
	}
	if err != nil {
		return s.wrong(sha, api.Internal, "it cannot be put into its place: "+err.Error(), "see the disk below "+s.root)
	}
	e.checked, err = s.look(sha)
	if err != nil {
		return s.wrong(sha, api.Internal, "it cannot be found in its place: "+err.Error(), "see the disk below "+s.root)
	}
	return nil
}

// sync makes the file just opened durable, and closes it.
func (s *Store) sync(f vfs.File, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (s *Store) sum(path string) (string, error) {
	f, err := s.disk.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Read returns up to limit bytes from offset of a complete file, and its size.
func (s *Store) Read(sha string, offset int64, limit int) (data []byte, size int64, err error) {
	whole := s.check(sha)
	s.mu.Lock()
	e := s.files[sha]
	whole = whole && e != nil && e.have == e.size
	if whole {
		s.touch(e)
		size = e.size
	}
	s.mu.Unlock()
	if !whole {
		return nil, 0, s.wrong(sha, api.NotFound, "it is not here", s.texts.Again)
	}
	n := min(int64(limit), api.MaxPiece, size-offset)
	if offset < 0 || n <= 0 {
		return nil, size, nil
	}
	f, err := s.disk.Open(s.Path(sha))
	if err != nil {
		return nil, 0, s.wrong(sha, api.Internal, "it cannot be read: "+err.Error(), "see the disk below "+s.root)
	}
	defer func() { _ = f.Close() }() // only read
	data = make([]byte, n)
	if _, err := f.ReadAt(data, offset); err != nil {
		return nil, 0, s.wrong(sha, api.Internal, "it cannot be read: "+err.Error(), "see the disk below "+s.root)
	}
	return data, size, nil
}

// Path returns where the file lies when it is complete.
func (s *Store) Path(sha string) string { return filepath.Join(s.root, sha) }

// Trim drops files that are not in use, the least recently used first, until the
// others have no more than half the limit; expected ones that are not in use are
// dropped in any case.
func (s *Store) Trim(inUse func(sha string) bool) error { return s.drop(inUse, s.limit/2) }

// Retain drops all files that are not in use.
func (s *Store) Retain(inUse func(sha string) bool) error { return s.drop(inUse, -1) }

// drop drops files that are not in use until the others have no more than so many bytes.
func (s *Store) drop(inUse func(sha string) bool, most int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.bytes()
	var failed error
	for {
		victim := ""
		for sha, e := range s.files { // the result does not depend on the order
			if inUse(sha) || (e.have == e.size && all <= most) {
				continue
			}
			if victim == "" || e.used < s.files[victim].used {
				victim = sha
			}
		}
		if victim == "" {
			return failed
		}
		all -= s.files[victim].size
		delete(s.files, victim)
		for _, path := range []string{s.Path(victim), s.Path(victim) + partSuffix} {
			if err := s.disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
	}
}

func (s *Store) wrong(sha string, p api.Problem, what, next string) error {
	return &api.Error{Problem: p, What: what, Subject: fmt.Sprintf("%s with the SHA-256 %.64q", s.texts.One, sha), Tried: "keeping it in " + s.root, Next: next}
}

func (s *Store) problem(what, tried string) error {
	return &api.Error{Problem: api.Internal, What: what, Subject: "folder " + s.root, Tried: tried, Next: "give another folder, or allow it to this user"}
}
