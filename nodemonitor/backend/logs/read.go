package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// MaxRead bounds the bytes of one Read.
const MaxRead = 1 << 20

// Chunk is a piece of a log.
type Chunk struct {
	Data    []byte // empty at and beyond the end, and in a gap
	Size    int64  // of the stream so far, with its gap
	Ended   bool   // nothing more will come
	Missing int64  // bytes from the offset on that are not kept; what is kept continues after them
	Why     string // they are not kept
}

// Read returns up to limit bytes (MaxRead at most, also for 0) of a stream from the
// offset on. To follow a log, read from offset+len(Data) until Ended and nothing
// comes.
func (s *Store) Read(id sched.AttemptID, stream Stream, offset int64, limit int) (Chunk, error) {
	if offset < 0 || stream > Stderr || limit < 0 {
		return Chunk{}, &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("stream %d, offset %d, limit %d is not a position in a log", stream, offset, limit),
			Subject: "attempt " + id.String(), Tried: "reading its log", Next: "use stream 0 or 1, and an offset and a limit of 0 or more",
		}
	}
	c, known, err := s.whileKept(id, func(c *Chunk) error { return s.readStream(id, stream, offset, limit, c) })
	if !known {
		return Chunk{}, s.missing(id)
	}
	if err != nil {
		return Chunk{}, s.unreadable(id, err)
	}
	return c, nil
}

// readStream reads a piece of a stream, as far as there is one.
func (s *Store) readStream(id sched.AttemptID, stream Stream, offset int64, limit int, c *Chunk) error {
	// The gap is read after the data: it is recorded before the bytes beyond it are written.
	f, err := s.open(id, stream.suffix())
	if err == nil {
		err = errors.Join(c.fill(f, offset, limit), f.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the file is made with the first byte
		return err
	}
	return s.cutAtGap(id, stream, offset, c)
}

// whileKept calls read with the first part of an answer about an attempt, and reports whether the
// attempt is known here. What was read while the attempt was dropped does not count: a file that is
// gone looks like one that was never written.
func (s *Store) whileKept(id sched.AttemptID, read func(c *Chunk) error) (c Chunk, known bool, err error) {
	for {
		c, e := s.begun(id)
		if e == nil {
			return Chunk{}, false, nil
		}
		err := read(&c)
		if _, now := s.begun(id); now == e {
			return c, true, err
		}
	}
}

// begun returns the first part of an answer about an attempt and what is known of it, nil for one
// that is not known here.
func (s *Store) begun(id sched.AttemptID) (Chunk, *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.jobs[id.Job][id]
	return Chunk{Ended: e != nil && e.ended}, e
}

// readLimit returns how many bytes one read returns at most when a caller requests limit.
func readLimit(limit int) int64 {
	if limit == 0 {
		return MaxRead
	}
	return min(int64(limit), MaxRead)
}

// open opens one of the files of an attempt's outputs. The task may have put something else in
// its place.
func (s *Store) open(id sched.AttemptID, suffix string) (*os.File, error) {
	in, err := files.Below(s.cfg.Root, id.Job.String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // the file has a descriptor of its own
	return files.OpenRegular(in, attemptName(id)+suffix)
}

func (c *Chunk) fill(f *os.File, offset int64, limit int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c.Size = info.Size()
	c.Data = make([]byte, max(min(readLimit(limit), c.Size-offset), 0))
	n, err := f.ReadAt(c.Data, offset)
	c.Data = c.Data[:n]
	if errors.Is(err, io.EOF) {
		return nil // it may have been cut meanwhile
	}
	return err
}

func (s *Store) missing(id sched.AttemptID) error {
	next := "it may have run on another node, or not at all; only programs have outputs, not tasks that sleep or those of an application"
	if have := s.Attempts(id.Job, id.Task); len(have) > 0 {
		next = fmt.Sprintf("the attempts at this task with logs here are %v", have)
	}
	what, madeRoom := s.whyGone(id)
	if madeRoom {
		next = "read outputs sooner, have the job leave less, or raise the node's log_limit"
	}
	return &api.Error{Problem: api.NotFound, What: what, Subject: "attempt " + id.String(), Tried: "reading its log", Next: next}
}

// tryAgain is what is to be done where noDescriptor is the reason.
const tryAgain = "try again in a moment; if this stays, raise the node's limit of open files (ulimit -n)"

// noDescriptor reports whether a file could not be opened because this process or machine has too many open.
func noDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// unreadable returns why a log cannot be read, and counts it.
func (s *Store) unreadable(id sched.AttemptID, err error) error {
	problem, next := api.Internal, "see the disk of the node"
	s.mu.Lock()
	if noDescriptor(err) {
		problem, next = api.NotReady, tryAgain
	} else if _, replaced := errors.AsType[*files.IrregularError](err); replaced {
		problem, next = api.Invalid, "have the task leave the files of its output alone; what it wrote is lost"
		s.stats.Irregular++
	} else {
		s.stats.Unreadable++
	}
	s.mu.Unlock()
	return &api.Error{
		Problem: problem, What: "its log cannot be read: " + err.Error(),
		Subject: "attempt " + id.String(), Tried: "reading its log", Next: next,
	}
}
