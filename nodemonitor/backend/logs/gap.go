package logs

import (
	"errors"

	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// maxGap bounds the bytes of the record of a gap.
const maxGap = 4096

// gap is which bytes of a stream are not kept.
type gap struct {
	from, to int64 // from the first one to before the second; equal: none
	why      string
}

// cutAtGap ends the piece that was read from an offset where the stream's gap begins, and
// reports how long the gap is when it begins there.
func (s *Store) cutAtGap(id sched.AttemptID, stream Stream, offset int64, c *Chunk) error {
	g, err := s.gap(id, stream, c.Ended)
	if err != nil || g.from == g.to {
		return err
	}
	c.Size = max(c.Size, g.to) // the bytes beyond may not be written yet
	switch {
	case offset < g.from:
		c.Data = c.Data[:min(int64(len(c.Data)), g.from-offset)]
	case offset < g.to:
		c.Data, c.Missing, c.Why = nil, g.to-offset, g.why
	}
	return nil
}

// gap reads the record of a stream's gap; it returns an empty gap where there is none. A record
// that is not whole when the attempt has ended is an error: the disk was full.
func (s *Store) gap(id sched.AttemptID, stream Stream, ended bool) (g gap, err error) {
	f, err := s.open(id, stream.suffix()+guard.GapSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return gap{}, nil
	} else if err != nil {
		return gap{}, err
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxGap))
	if err != nil {
		return gap{}, err
	}
	if !ended && !strings.HasSuffix(string(text), "\n") {
		return gap{}, nil // it is being written, and the bytes beyond the gap are not yet
	}
	from, rest, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), " ")
	to, why, _ := strings.Cut(rest, " ")
	g.why = why
	var wrong [2]error
	g.from, wrong[0] = strconv.ParseInt(from, 10, 64)
	g.to, wrong[1] = strconv.ParseInt(to, 10, 64)
	if !strings.HasSuffix(string(text), "\n") || wrong[0] != nil || wrong[1] != nil || g.from < 0 || g.to < g.from {
		return gap{}, errors.New("the disk of the node was full, so that not even which bytes of it are missing could be recorded")
	}
	return g, nil
}
