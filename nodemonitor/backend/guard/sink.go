package guard

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/files"
)

const (
	tailBytes  = 4096     // of stderr, kept for the result
	lateBytes  = 64 << 10 // of each stream, kept in its file when what is before them is not
	chunkBytes = 8192     // read from a pipe at once; two such buffers per process
)

// output is the file of one stream.
type output interface {
	io.WriteCloser
	io.WriterAt
	Truncate(size int64) error
}

// opener makes the file of one stream. Tests replace it by one that fails.
type opener func(path string) (output, error)

// createLog makes a new file: a task may write in the folder of its own log, and may have put a
// link or a named pipe in its place.
func createLog(path string) (output, error) { return files.CreateRegular(path) }

// sink keeps the first bytes of a stream in a file, and its last ones in memory until its end,
// when they go to their place in the file: the bytes between are a gap, recorded in a second file.
// It belongs to one goroutine and never refuses a byte.
type sink struct {
	path      string
	limit     int64
	rotations int   // files kept in addition to the newest; 0 keeps the first bytes instead
	size      int64 // of the newest file, with rotations
	open      opener
	room      func(path string) bool // whether the disk has room; nil: it has
	unchecked int                    // bytes written since room was called
	full      bool                   // the disk had no room
	file      output                 // nil before the first byte and after a fault
	out       Output
	tail      []byte // at most 2*tailBytes
	late      []byte // the last of the bytes that were dropped, at most 2*lateBytes
}

func (s *sink) take(p []byte) {
	s.tail = lastBytes(s.tail, p, tailBytes)
	if s.rotations > 0 {
		s.rotate(p)
		return
	}
	n := 0
	if s.out.Dropped == 0 && s.hasRoom(len(p)) {
		n = s.write(p[:min(int64(len(p)), max(s.limit-s.out.Kept, 0))])
	}
	s.out.Kept += int64(n)
	s.out.Dropped += int64(len(p) - n)
	if s.path != "" {
		s.late = lastBytes(s.late, p[n:], lateBytes)
	}
}

// write returns how many bytes reached the file. A file that failed once is not written again: a
// log with a hole is worse than one that ends.
func (s *sink) write(p []byte) int {
	if len(p) == 0 || s.path == "" || !s.opened() {
		return 0
	}
	n, err := s.file.Write(p)
	if err != nil {
		s.out.Fault = err.Error()
	}
	return n
}

// opened makes the file if there is none, and reports whether it can be written.
func (s *sink) opened() bool {
	if s.file == nil && s.out.Fault == "" {
		f, err := s.open(s.path)
		if err != nil {
			s.out.Fault = err.Error()
			return false
		}
		s.file = f
	}
	return s.out.Fault == ""
}

// lastBytes appends to the kept last bytes of a stream: at least the last most of them, at most
// twice as many.
func lastBytes(kept, p []byte, most int) []byte {
	if len(p) >= most {
		return append(kept[:0], p[len(p)-most:]...)
	}
	if len(kept)+len(p) > 2*most {
		kept = kept[:copy(kept, kept[len(kept)-most:])]
	}
	return append(kept, p...)
}

// end closes the file, after a note of the bytes that it lacks.
func (s *sink) end() (Output, []byte) {
	switch {
	case s.out.Dropped == 0 || s.path == "":
	case s.rotations == 0:
		s.closeGap()
	case s.file != nil:
		_, _ = fmt.Fprintf(s.file, "\n[pigeon: %d more bytes were dropped; %d are kept]\n", s.out.Dropped, s.out.Kept) // the fault, if any, is recorded
	}
	if s.file != nil {
		if err := s.file.Close(); err != nil && s.out.Fault == "" {
			s.out.Fault = err.Error()
		}
	}
	return s.out, s.tail[max(len(s.tail)-tailBytes, 0):]
}

// chunks are buffers of ended drains: most processes write nothing, and end soon.
var chunks = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// drain moves a pipe into the sink, after the first n bytes of it, which are in buf, until it has no
// writer any more, or its deadline has passed and what it held then is read. It returns buf to the
// chunks.
func (s *sink) drain(pipe *os.File, buf *[chunkBytes]byte, n int) {
	defer chunks.Put(buf)
	s.take(buf[:n])
	for {
		n, err := pipe.Read(buf[:])
		s.take(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.takeRest(pipe, buf[:])
		}
		if err != nil {
			s.endedBy(err)
			_ = pipe.Close()
			return
		}
	}
}

// endedBy records why a pipe is not read any further, unless that is its end or its deadline.
func (s *sink) endedBy(err error) {
	if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) && s.out.Fault == "" {
		s.out.Fault = "it cannot be read any further: " + err.Error()
	}
}

// takeRest reads what a pipe holds, and not what a writer continues to add.
func (s *sink) takeRest(pipe *os.File, buf []byte) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // no error: the pipe is open
		left, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
		for err == nil && left > 0 {
			var n int
			if n, err = unix.Read(int(fd), buf[:min(left, len(buf))]); n <= 0 {
				return
			}
			s.take(buf[:n])
			left -= n
		}
	})
}
