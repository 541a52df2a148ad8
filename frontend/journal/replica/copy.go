package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// position is a place in a stream: a whole batch, or an opening, ends there.
type position struct {
	sequence uint64
	chain    uint64 // of the message at it
	token    uint64 // of the newest opening before it
}

// positionKey is the key under which a copy holds which stream was applied to it, and up to
// where. No key of the journal begins with that byte.
var positionKey = []byte{0}

func (p position) encode(id string) []byte {
	v := binary.BigEndian.AppendUint64(nil, p.sequence)
	v = binary.BigEndian.AppendUint64(v, p.chain)
	return append(binary.BigEndian.AppendUint64(v, p.token), id...)
}

func decodePosition(v []byte) (p position, id string, ok bool) {
	if len(v) < 24 {
		return p, "", false
	}
	return position{binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:]), binary.BigEndian.Uint64(v[16:])}, string(v[24:]), true
}

// folder is the folder of the copy's files within the folder of the store.
func (s *Store) folder() string { return filepath.Join(s.opts.Dir, "copy") }

// openCopy opens the copy, and discards one that is damaged. It returns the id of the stream to
// which the copy belongs, "" for none.
func (s *Store) openCopy() (of string, err error) {
	if err := store.MakeFolder(s.opts.FS, s.opts.Dir); err != nil {
		return "", fmt.Errorf("the folder %s of the copy: %w", s.opts.Dir, err)
	}
	if s.lock, err = store.Lock(s.opts.FS, s.opts.Dir); err != nil {
		return "", fmt.Errorf("the copy of the journal in %s is in use by another process: %w", s.opts.Dir, err)
	}
	if s.copyIsMarked() {
		return "", s.emptyCopy("it is damaged")
	}
	err = s.openDisk()
	if err == nil {
		var v []byte
		if v, err = s.disk.Get(positionKey); err == nil {
			s.applied, of, _ = decodePosition(v)
			return of, nil
		}
	}
	if _, damaged := errors.AsType[*store.DamageError](err); !damaged {
		return "", err
	}
	return "", s.emptyCopy(err.Error())
}

// damagedMark is the file in the folder of a copy in which damage was met. The next opening discards the copy
// and makes it again from the stream, which has all of it.
const damagedMark = "DAMAGED"

// copyBroke is called by the store of the copy when it fails for good.
func (s *Store) copyBroke(err error) {
	if s.broke.CompareAndSwap(nil, &err) {
		close(s.copyGone)
	}
	s.fail(s.marked(err))
}

// toCopy appends a batch to the copy. On a disk that is full or fails, the store of the copy ends the goroutine
// that calls it, or blocks it forever; this returns why.
func (s *Store) toCopy(b *store.Batch) error {
	done := make(chan error, 1)
	disk := s.disk
	go func() {
		err := store.ErrEnded
		defer func() { done <- err }()
		err = disk.Append(b, false)
	}()
	var err error
	select {
	case err = <-done:
	case <-s.copyGone:
	}
	if why := s.broke.Load(); why != nil {
		return s.copyErr(*why)
	}
	return err
}

// givesUp ends the store when its copy is damaged, which no further try would change. The next opening makes
// the copy again.
func (s *Store) givesUp(err error) bool {
	if d, ok := errors.AsType[*store.DamageError](err); !ok || d.File == "" {
		return false
	}
	s.cancel(s.marked(err))
	s.fail(err)
	return true
}

// marked marks the copy if the error is damage to a file of it, and returns the error.
func (s *Store) marked(err error) error {
	if d, ok := errors.AsType[*store.DamageError](err); ok && d.File != "" && !s.met.Swap(true) {
		if marking := store.WriteFile(s.opts.FS, filepath.Join(s.folder(), damagedMark), "met on "+d.File+"\n"); marking != nil {
			s.opts.Log.Debug("marking a damaged copy", "error", marking)
		}
	}
	return err
}

// Damaged reports whether damage to the copy was met. It is made again at the next opening.
func (s *Store) Damaged() bool { return s.met.Load() }

// copyIsMarked reports whether the store of the copy met damage before.
func (s *Store) copyIsMarked() bool {
	_, err := s.opts.FS.Stat(filepath.Join(s.folder(), damagedMark))
	return err == nil
}

// reasonFor returns why a copy of another stream, or of none, is discarded: "" for none.
func reasonFor(of string) string {
	if of == "" {
		return ""
	}
	return "it is of another stream"
}

func (s *Store) openDisk() error {
	if err := store.MakeFolder(s.opts.FS, s.folder()); err != nil {
		return fmt.Errorf("the folder %s of the copy: %w", s.folder(), err)
	}
	lock, err := store.Lock(s.opts.FS, s.folder())
	if err != nil {
		return fmt.Errorf("the copy of the journal in %s is in use by another process: %w", s.folder(), err)
	}
	d, err := store.Open(s.folder(), lock, store.Options{FS: s.opts.FS, Logger: s.opts.Log, Broken: s.copyBroke})
	if why := s.broke.Load(); err != nil && why != nil {
		return s.copyErr(*why) // it may hold the lock
	}
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	s.disk, s.diskLock = d, lock
	return nil
}

func (s *Store) closeDisk() (err error) {
	if s.disk == nil {
		return nil
	}
	err = errors.Join(s.disk.Close(), s.diskLock.Release())
	s.disk, s.diskLock = nil, nil
	return err
}

// emptyCopy discards the copy and begins a new one. why is empty when there was nothing in it.
func (s *Store) emptyCopy(why string) error {
	if why != "" {
		s.opts.Log.Warn("the copy of the journal is made again from the stream", "stream", s.name, "folder", s.folder(), "reason", why)
	}
	if err := s.closeDisk(); err != nil {
		s.opts.Log.Debug("closing a copy that is thrown away", "error", err)
	}
	if err := s.opts.FS.RemoveAll(s.folder()); err != nil {
		return fmt.Errorf("removing the copy in %s: %w", s.folder(), err)
	}
	s.applied = position{}
	return s.openDisk()
}

// apply applies the changes of messages up to a position.
func (s *Store) apply(changes []byte, at position) error {
	s.batch.Reset()
	if err := s.batch.Decode(changes); err != nil {
		return err
	}
	s.batch.Set(positionKey, at.encode(s.id))
	if err := s.toCopy(&s.batch); err != nil {
		return err
	}
	s.applied = at
	return nil
}
