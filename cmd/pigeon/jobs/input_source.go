package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// keptInput is how much of the beginning of standard input is kept for a task that is started
// again, where it cannot be read twice.
const keptInput = 1 << 20

// stdinFlags set whether a program gets standard input.
type stdinFlags struct{ forward, none bool }

func (f *stdinFlags) add(fs *pflag.FlagSet) {
	fs.BoolVarP(&f.forward, "stdin", "i", false, "pass on standard input also from a terminal (default: from a file or a pipe)")
	fs.BoolVarP(&f.none, "no-stdin", "n", false, "do not read standard input: the program's is empty")
}

// open returns what the program gets as its standard input, nil for nothing. Nothing is read once
// the command has used it up. A terminal is read only with --stdin: a background process that reads
// one is stopped, and would take what was typed for the shell.
func (f *stdinFlags) open(in io.Reader, used bool) (stdinSource, error) {
	switch {
	case f.forward && f.none:
		return nil, errors.New("both --stdin and --no-stdin are given; leave one out")
	case f.forward && used:
		return nil, errors.New("--stdin passes on what the script or --env-file - reads; name a file there")
	case f.none || used:
		return nil, nil //nolint:nilnil // none is wanted
	}
	file, ok := in.(*os.File)
	if !ok {
		return &stdinStream{r: in}, nil
	}
	info, err := file.Stat()
	if err != nil {
		if f.forward {
			return nil, fmt.Errorf("standard input cannot be read: %w", err)
		}
		return nil, nil //nolint:nilnil // it is closed
	}
	null, err := os.Stat(os.DevNull)
	switch {
	case err == nil && os.SameFile(info, null), hasTerminal(file) && !f.forward:
		return nil, nil //nolint:nilnil // it is empty, or not to be read
	case info.Mode().IsRegular():
		begin, err := file.Seek(0, io.SeekCurrent)
		return stdinFile{file, begin}, err
	}
	return &stdinStream{r: file}, nil
}

// hasTerminal reports whether a file is a terminal; isTerminal accepts more kinds of files.
func hasTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS) //nolint:gosec // a descriptor is small
	return err == nil
}

// isTyped reports whether somebody types the input at a terminal.
func isTyped(in stdinSource) bool {
	s, is := in.(*stdinStream)
	if !is {
		return false
	}
	file, is := s.r.(*os.File)
	return is && hasTerminal(file)
}

// stdinSource is standard input, which a task that is started again gets from its beginning.
type stdinSource interface {
	// at returns the bytes after an offset, wire.MaxInput at most, and whether the input
	// ends with them. None and false mean that nothing has arrived for as long as patience.
	// The bytes are valid until the next call.
	at(ctx context.Context, offset int64, patience time.Duration) (data []byte, last bool, err error)
}

// stdinFile is a regular file. It is read without moving its offset, which belongs to the
// process that opened it: the loop of a shell, say, that reads the same file line by line.
type stdinFile struct {
	file  io.ReaderAt
	begin int64 // its offset when this program was started
}

func (s stdinFile) at(_ context.Context, offset int64, _ time.Duration) ([]byte, bool, error) {
	data := make([]byte, wire.MaxInput)
	n, err := s.file.ReadAt(data, s.begin+offset)
	if errors.Is(err, io.EOF) {
		return data[:n], true, nil
	}
	return data[:n], false, unreadable(err)
}

func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("standard input could not be read: %w", err)
}

// stdinStream is what can be read once. At most one piece is read ahead, by a goroutine that ends
// with the first context, or with the input.
type stdinStream struct {
	r      io.Reader
	chunks chan stdinChunk
	read   int64  // bytes that were returned
	head   []byte // the first of them, keptInput at most
	latest []byte // the last of them
	ended  bool
}

type stdinChunk struct {
	data []byte
	err  error // io.EOF at the end
}

func (s *stdinStream) at(ctx context.Context, offset int64, patience time.Duration) ([]byte, bool, error) {
	if s.chunks == nil {
		s.chunks = make(chan stdinChunk)
		go s.readAhead(ctx)
	}
	for offset >= s.read && !s.ended {
		if more, err := s.next(ctx, patience); err != nil || !more {
			return nil, false, err
		}
	}
	before := s.read - int64(len(s.latest))
	switch {
	case offset > s.read:
		return nil, false, fmt.Errorf("standard input has %d bytes, and its task was given %d before", s.read, offset)
	case offset >= before:
		return s.latest[offset-before:], s.ended, nil
	case offset < int64(len(s.head)):
		data := s.head[offset:min(offset+wire.MaxInput, int64(len(s.head)))]
		return data, s.ended && offset+int64(len(data)) == s.read, nil
	}
	return nil, false, fmt.Errorf("its standard input cannot be given to it again: %d bytes were read, which can be read once only, and the first %d are kept. Give it a file (pigeon run ... < FILE)", s.read, len(s.head))
}

// next takes the input that was read ahead, and reports whether there was any in time.
func (s *stdinStream) next(ctx context.Context, patience time.Duration) (bool, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case c := <-s.chunks:
		s.read += int64(len(c.data))
		s.head = append(s.head, c.data[:min(len(c.data), keptInput-len(s.head))]...)
		if len(c.data) > 0 {
			s.latest = c.data
		}
		if s.ended = errors.Is(c.err, io.EOF); s.ended {
			return true, nil
		}
		return true, unreadable(c.err)
	case <-late.C:
		return false, nil
	case <-ctx.Done():
		return false, nil
	}
}

func (s *stdinStream) readAhead(ctx context.Context) {
	for {
		buf := make([]byte, wire.MaxInput)
		n, err := s.r.Read(buf)
		select {
		case s.chunks <- stdinChunk{buf[:n], err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}
