package guard

import (
	"fmt"
	"io"
	"os"

	"github.com/pigeon-sched/pigeon/internal/files"
)

const (
	tailBytes  = 4096 // of stderr, kept for the result
	chunkBytes = 8192 // read from a pipe at once; two such buffers per process
)

// opener makes the file of one stream. Tests replace it by one that fails.
type opener func(path string) (io.WriteCloser, error)

// createLog makes a new file: a task may write beside its own log, and may have put a
// link or a named pipe in its place.
func createLog(path string) (io.WriteCloser, error) { return files.CreateRegular(path) }

// sink keeps the first bytes of a stream in a file and its last ones in memory.
// It belongs to one goroutine and never refuses a byte.
type sink struct {
	path      string
	limit     int64
	rotations int   // files kept beside the newest; 0 keeps the first bytes instead
	size      int64 // of the newest file, with rotations
	open      opener
	file      io.WriteCloser // nil before the first byte and after a fault
	out       Output
	tail      []byte // at most 2*tailBytes
}

func (s *sink) take(p []byte) {
	s.remember(p)
	if s.rotations > 0 {
		s.rotate(p)
		return
	}
	keep := p[:min(int64(len(p)), max(s.limit-s.out.Kept, 0))]
	n := s.write(keep)
	s.out.Kept += int64(n)
	s.out.Dropped += int64(len(p) - n)
}

// write returns how many bytes reached the file. A file that failed once is left
// alone: a log with a hole is worse than one that ends.
func (s *sink) write(p []byte) int {
	if len(p) == 0 || s.out.Fault != "" || s.path == "" {
		return 0
	}
	if s.file == nil {
		f, err := s.open(s.path)
		if err != nil {
			s.out.Fault = err.Error()
			return 0
		}
		s.file = f
	}
	n, err := s.file.Write(p)
	if err != nil {
		s.out.Fault = err.Error()
	}
	return n
}

func (s *sink) remember(p []byte) {
	if len(p) >= tailBytes {
		s.tail = append(s.tail[:0], p[len(p)-tailBytes:]...)
		return
	}
	if len(s.tail)+len(p) > 2*tailBytes {
		n := copy(s.tail, s.tail[len(s.tail)-tailBytes:])
		s.tail = s.tail[:n]
	}
	s.tail = append(s.tail, p...)
}

// end closes the file, with a last line about what it lacks. The line comes on
// top of the limit.
func (s *sink) end() (Output, []byte) {
	if s.file != nil {
		if s.out.Dropped > 0 {
			_, _ = fmt.Fprintf(s.file, "\n[pigeon: %d more bytes were dropped; %d are kept]\n", s.out.Dropped, s.out.Kept) // the fault, if any, is recorded
		}
		if err := s.file.Close(); err != nil && s.out.Fault == "" {
			s.out.Fault = err.Error()
		}
	}
	return s.out, s.tail[max(len(s.tail)-tailBytes, 0):]
}

// drain moves a pipe into the sink until it has no writer any more, or is closed.
func (s *sink) drain(pipe *os.File) {
	buf := make([]byte, chunkBytes)
	for {
		n, err := pipe.Read(buf)
		s.take(buf[:n])
		if err != nil {
			_ = pipe.Close() // read to its end
			return
		}
	}
}
