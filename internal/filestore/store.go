package filestore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// partSuffix ends the name of a file that is not whole.
const partSuffix = ".part"

// Store is a folder of files by hash. All methods may be called from any
// goroutine; those that write pieces or remove files exclude each other.
type Store struct {
	disk  vfs.FS
	root  string
	limit int64 // bytes of all files together; a file beyond it is refused
	texts Texts

	mu       sync.Mutex
	files    map[string]*entry
	bytes    int64  // of all files, also of those that are to come
	received uint64 // files that were to come by [Incoming]
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
// Invariant: have == size for a whole file, and have < size or both are 0 for another one.
type entry struct {
	size    int64 // of one that is not whole: the largest that was announced
	have    int64
	whole   bool          // it is in its place
	sum     hash.Hash     // of the bytes that have arrived of one that is not whole
	placing chan struct{} // not nil while it is put into its place; closed at the end of that
	used    uint64        // order of its last use

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
			s.enter(name, &entry{size: info.Size(), have: info.Size(), whole: true})
			continue
		}
		if filepath.Ext(name) == partSuffix {
			_ = disk.Remove(s.Path(name)) // what stays is overwritten
		}
	}
	return s, nil
}

// Expect announces a file. It is refused when the store has no room. The size of a file that has
// not arrived is only what somebody has said: with several ones the file is whole at the one where
// its hash is right.
func (s *Store) Expect(f api.File) error {
	s.check(f.SHA256)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.settled(f.SHA256)
	switch {
	case e != nil && e.whole && e.size == f.Size:
		s.touch(e)
		return nil
	case e != nil && e.whole:
		return s.wrong(f.SHA256, api.Invalid, fmt.Sprintf("it is known with %d bytes, not %d", e.size, f.Size), "send its actual hash and size")
	case f.Size == 0 && f.SHA256 != sumOf(sha256.New()):
		return s.wrong(f.SHA256, api.Invalid, "it is announced without bytes, which have the SHA-256 "+sumOf(sha256.New()), "send its actual hash and size")
	}
	e, err := s.announced(e, &f)
	if err == nil && f.Size == 0 {
		return s.grow(f.SHA256, e, nil)
	}
	return err
}

// announced returns the entry of a file that is not whole, with room for a size of it; e is the
// one that it has, or nil. It needs the lock.
func (s *Store) announced(e *entry, f *api.File) (*entry, error) {
	known := int64(0)
	if e != nil {
		known = e.size
	}
	if err := s.room(f, max(f.Size-known, 0)); err != nil {
		return nil, err
	}
	switch {
	case e == nil:
		e = &entry{size: f.Size}
		s.enter(f.SHA256, e)
	case f.Size > e.size:
		s.resize(e, f.Size)
	case f.Size <= e.have: // as many bytes have arrived and have another hash
		e.have = 0
	}
	s.touch(e)
	return e, nil
}

// room returns an error when there is none for more bytes of a file. It needs the lock.
func (s *Store) room(f *api.File, more int64) error {
	all := s.bytes + more
	if more == 0 || all <= s.limit {
		return nil
	}
	return s.wrong(f.SHA256, api.Busy, fmt.Sprintf("with its %d bytes the %s here have %d, more than the limit of %d", f.Size, s.texts.Many, all, s.limit), s.texts.Room)
}

// enter, resize and forget change what is known. They need the lock.
func (s *Store) enter(sha string, e *entry) {
	s.files[sha] = e
	s.bytes += e.size
}

func (s *Store) resize(e *entry, size int64) {
	s.bytes += size - e.size
	e.size = size
}

func (s *Store) forget(sha string) {
	s.bytes -= s.files[sha].size
	delete(s.files, sha)
}

// touch needs the lock.
func (s *Store) touch(e *entry) {
	s.order++
	e.used = s.order
}

// Has reports whether the file is complete and has the right content.
func (s *Store) Has(sha string) bool { return s.check(sha) }

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
	return sumOf(h), nil
}

// sumOf returns the hash of what was written to h, as the name of a file.
func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// Read returns up to limit bytes from offset of a complete file, and its size.
func (s *Store) Read(sha string, offset int64, limit int) (data []byte, size int64, err error) {
	whole := s.check(sha)
	s.mu.Lock()
	e := s.files[sha]
	whole = whole && e != nil && e.whole
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
// dropped in any case. One that is just being used or put into its place stays until the next time.
func (s *Store) Trim(inUse func(sha string) bool) error { return s.drop(inUse, s.limit/2) }

// Retain drops all files that are not in use, as Trim does.
func (s *Store) Retain(inUse func(sha string) bool) error { return s.drop(inUse, -1) }

// dropAtOnce is how many files are dropped before others get the lock.
const dropAtOnce = 100

// drop drops files that are not in use until the others have no more than so many bytes.
func (s *Store) drop(inUse func(sha string) bool, most int64) (failed error) {
	for some := range slices.Chunk(s.byUse(), dropAtOnce) {
		failed = errors.Join(failed, s.dropSome(some, inUse, most))
	}
	return failed
}

// candidate is a file that may be dropped, as it was used last.
type candidate struct {
	sha  string
	e    *entry
	used uint64
}

// byUse returns all files, the least recently used first.
func (s *Store) byUse() []candidate {
	s.mu.Lock()
	all := make([]candidate, 0, len(s.files))
	for sha, e := range s.files {
		all = append(all, candidate{sha, e, e.used})
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.used, b.used), cmp.Compare(a.sha, b.sha))
	})
	return all
}

// dropSome drops those of the candidates that have not been used since.
func (s *Store) dropSome(some []candidate, inUse func(sha string) bool, most int64) (failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range some {
		switch {
		case s.files[c.sha] != c.e || c.e.used != c.used || c.e.placing != nil,
			c.e.whole && s.bytes <= most,
			inUse(c.sha):
			continue
		}
		s.forget(c.sha)
		for _, path := range []string{s.Path(c.sha), s.Path(c.sha) + partSuffix} {
			if err := s.disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
	}
	return failed
}

func (s *Store) wrong(sha string, p api.Problem, what, next string) error {
	return &api.Error{Problem: p, What: what, Subject: fmt.Sprintf("%s with the SHA-256 %.64q", s.texts.One, sha), Tried: "keeping it in " + s.root, Next: next}
}

func (s *Store) problem(what, tried string) error {
	return &api.Error{Problem: api.Internal, What: what, Subject: "folder " + s.root, Tried: tried, Next: "give another folder, or allow it to this user"}
}
