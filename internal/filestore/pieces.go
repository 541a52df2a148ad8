package filestore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// Put appends a piece to an expected file and returns how many bytes have arrived.
// A piece that does not begin there changes nothing: the sender continues from the
// answer. While the file is being put into its place, Put waits for that.
func (s *Store) Put(sha string, offset int64, data []byte) (have int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.settled(sha)
	switch {
	case e == nil:
		return 0, s.wrong(sha, api.NotFound, "it was not announced", s.texts.Announce)
	case len(data) > api.MaxPiece:
		return e.have, s.wrong(sha, api.Invalid, fmt.Sprintf("a piece has %d bytes, the limit is %d", len(data), api.MaxPiece), "send smaller pieces")
	case offset != e.have || len(data) == 0 || e.whole:
		return e.have, nil
	case e.have+int64(len(data)) > e.size:
		return e.have, s.wrong(sha, api.Invalid, fmt.Sprintf("it grows beyond the %d bytes announced", e.size), "announce it with its size")
	}
	err = s.grow(sha, e, data)
	return e.have, err
}

// settled returns the entry of a file that is not being put into its place, nil for none. It
// needs the lock, and gives it up while it waits.
func (s *Store) settled(sha string) *entry {
	for {
		e := s.files[sha]
		if e == nil || e.placing == nil {
			return e
		}
		over := e.placing
		s.mu.Unlock()
		<-over
		s.mu.Lock()
	}
}

// grow appends to a file and puts it into its place when it is whole, which its hash shows: the
// size may be what another sender has announced wrongly. It needs the lock, and gives it up while
// the file is put into its place.
func (s *Store) grow(sha string, e *entry, data []byte) error {
	part := s.Path(sha) + partSuffix
	if err := s.write(part, e.have, data); err != nil {
		return s.unwritten(sha, err)
	}
	if e.have == 0 {
		e.sum = sha256.New()
	}
	e.sum.Write(data)
	have, got := e.have+int64(len(data)), sumOf(e.sum)
	switch {
	case got == sha:
		e.have = 0 // to be sent again if it cannot be put into its place
		return s.place(sha, e, part, have)
	case have == e.size:
		e.have = 0
		return s.otherHash(sha, got)
	}
	e.have = have
	return nil
}

func (s *Store) otherHash(sha, got string) error {
	return s.wrong(sha, api.Invalid, "the bytes received have the SHA-256 "+got, "send it again from its first byte")
}

// unwritten returns the refusal of a piece that the disk does not take.
func (s *Store) unwritten(sha string, err error) error {
	return &diskError{s.wrong(sha, api.Internal, "it cannot be written: "+err.Error(), "free disk space below "+s.root), err}
}

// unplaced returns the refusal of a whole file that cannot get its name.
func (s *Store) unplaced(sha string, err error) error {
	return &diskError{s.wrong(sha, api.Internal, "it cannot be put into its place: "+err.Error(), "see the disk below "+s.root), err}
}

// diskError is a refusal with the error of the disk that caused it: whoever can wait, or can make
// room, has to know whether the disk is full.
type diskError struct{ refusal, cause error }

func (e *diskError) Error() string   { return e.refusal.Error() }
func (e *diskError) Unwrap() []error { return []error{e.refusal, e.cause} }

// write writes a piece of a file that is not whole.
func (s *Store) write(part string, offset int64, data []byte) error {
	open := s.create
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

// create makes a part, without what an earlier file of the name held; and the folder of the store, if
// that was removed, as what is not used for days is below the system's folder for temporary files.
func (s *Store) create(part string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.disk.Create(part, c)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.disk.MkdirAll(s.root, files.Private); err != nil {
			return nil, err
		}
		f, err = s.disk.Create(part, c)
	}
	return f, err
}

// place puts a part that has the right hash into its place, as the file of an entry that is not
// being placed. It needs the lock, and gives it up while the disk works: what concerns the same
// file waits, and everything else goes on. Until then the entry is as it was, so a file that is
// whole can be read meanwhile, and another one is not here yet.
func (s *Store) place(sha string, e *entry, part string, size int64) error {
	e.placing = make(chan struct{})
	s.mu.Unlock()
	checked, err := s.moveToPlace(sha, part)
	s.mu.Lock()
	close(e.placing)
	e.placing = nil
	if err != nil {
		return err
	}
	s.resize(e, size)
	e.have, e.whole, e.sum, e.checked = size, true, nil, checked
	s.touch(e)
	return nil
}

// moveToPlace gives a complete file its final name, and returns how it looks there. The name
// becomes durable only after the content: after a power failure it may be missing, but
// a file that has it is whole.
func (s *Store) moveToPlace(sha, part string) (look, error) {
	err := s.sync(s.disk.OpenReadWrite(part, vfs.WriteCategoryUnspecified))
	if err == nil {
		err = s.disk.Rename(part, s.Path(sha))
	}
	if err == nil {
		err = s.sync(s.disk.OpenDir(s.root))
	}
	if err != nil {
		return look{}, s.unplaced(sha, err)
	}
	l, err := s.look(sha)
	if err != nil {
		return look{}, s.wrong(sha, api.Internal, "it cannot be found in its place: "+err.Error(), "see the disk below "+s.root)
	}
	return l, nil
}

// sync makes the file just opened durable, and closes it.
func (s *Store) sync(f vfs.File, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
