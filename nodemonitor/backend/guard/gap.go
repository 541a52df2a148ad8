package guard

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// GapSuffix follows the name of a stream's file in the name of the file that records which bytes of
// the stream are not kept: the offset of the first one, the offset after the last one, and why.
const GapSuffix = ".gap"

const (
	// roomEvery is how many bytes of a stream are written between two looks at the disk. The output
	// of a program that writes less is kept as long as it can be written.
	roomEvery = 1 << 20
	// The disk has no room when less than this is free, or than a part of it.
	freeBytes, freePart = 1 << 30, 20
)

// hasRoom reports whether n more bytes may be written: outputs do not fill the disk.
func (s *sink) hasRoom(n int) bool {
	if s.unchecked += n; s.unchecked >= roomEvery && s.room != nil {
		s.unchecked, s.full = 0, !s.room(s.path)
	}
	return !s.full
}

// diskHasRoom reports whether the disk of a file is not nearly full; true if that cannot be found
// out.
func diskHasRoom(path string) bool {
	var disk unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &disk) != nil {
		return true
	}
	size := uint64(disk.Bsize) //nolint:gosec // not negative
	return disk.Bavail*size >= min(freeBytes, disk.Blocks*size/freePart)
}

// closeGap writes the last bytes of the stream to their place, and records what is missing
// before them. The record comes first: until it is there, a reader would take the gap for zeros.
func (s *sink) closeGap() {
	late := s.late[max(len(s.late)-lateBytes, 0):]
	all := s.out.Kept + s.out.Dropped
	from := all - int64(len(late))
	if !s.opened() {
		from = all // the file takes no more
	}
	if err := s.recordGap(from); err != nil {
		s.out.Fault = "which bytes are missing could not be recorded: " + err.Error()
		return
	}
	if from == all {
		return
	}
	if _, err := s.file.WriteAt(late, from); err != nil {
		s.out.Fault = err.Error()
		_ = s.recordGap(all) // it replaces what was just written
		return
	}
	s.out.Kept, s.out.Dropped = s.out.Kept+int64(len(late)), s.out.Dropped-int64(len(late))
}

// recordGap records that what is between the kept bytes and an offset is missing; nothing when none
// is missing. On a full disk the last kept bytes make room for the record.
func (s *sink) recordGap(to int64) error {
	if to == s.out.Kept {
		return nil
	}
	err := s.writeGap(to)
	if err != nil && s.file != nil {
		less := min(s.out.Kept, lateBytes)
		if cut := s.file.Truncate(s.out.Kept - less); cut != nil {
			return err
		}
		s.out.Kept, s.out.Dropped = s.out.Kept-less, s.out.Dropped+less
		err = s.writeGap(to)
	}
	return err
}

func (s *sink) writeGap(to int64) error {
	f, err := s.open(s.path + GapSuffix)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d %d %s\n", s.out.Kept, to, s.why())
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// why returns why bytes were dropped.
func (s *sink) why() string {
	switch {
	case s.out.Fault != "":
		return s.out.Fault
	case s.full:
		return "the disk of its node is nearly full"
	}
	return fmt.Sprintf("its node keeps the first %d bytes (output_limit) and the last %d", s.limit, lateBytes)
}
