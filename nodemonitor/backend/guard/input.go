package guard

import (
	"os"

	"golang.org/x/sys/unix"
)

// input is the standard input of a process that takes one. The guard has the only writing end of
// its pipe, so the process reads end-of-file when the input has ended, and not before. The
// server's loop owns it; one goroutine, write, has what is being written.
type input struct {
	InputState
	pipe   *os.File
	pieces chan inputPiece // to be written; room for one, and there is one at most
}

type inputPiece struct {
	data []byte
	last bool
}

// openInput makes the pipe of a process that takes standard input and returns its reading end,
// which the caller closes once the process was forked.
func (c *child) openInput() (int, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	err := unix.SetNonblock(fds[1], true) // the runtime polls it
	if u := c.spec.As; u != nil && err == nil {
		err = unix.Fchown(fds[0], int(u.UID), int(u.GID)) // so that it can open /dev/stdin
	}
	if err != nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
		return 0, err
	}
	c.input = &input{pipe: os.NewFile(uintptr(fds[1]), "input"), pieces: make(chan inputPiece, 1)}
	return fds[0], nil
}

// closeInput makes the process read end-of-file after what was written.
func (c *child) closeInput() {
	if in := c.input; in != nil && !in.Closed {
		in.Closed = true
		close(in.pieces)
		_ = in.pipe.Close() // a pipe has nothing left to be written
	}
}

// feed takes a piece that begins where the last one has ended, while none is being written. The
// client learns at once that any other one was not taken.
func (s *server) feed(c *child, r *request) {
	in := c.input
	if in == nil || in.Closed || in.Writing || r.Offset != in.Taken {
		s.tellInput(c)
		return
	}
	in.Taken += int64(len(r.Data))
	in.Writing = true
	in.pieces <- inputPiece{r.Data, r.Last}
}

// write writes pieces into the pipe until that is closed. It waits for a process that does not
// read, and for nothing else.
func (s *server) write(c *child, in *input) {
	for p := range in.pieces {
		var err error
		if len(p.data) > 0 {
			_, err = in.pipe.Write(p.data) // a process that reads no more is EPIPE
		}
		s.poll.post(func() {
			in.Writing = false
			if p.last || err != nil {
				c.closeInput()
			}
			s.tellInput(c)
		})
	}
}

func (s *server) tellInput(c *child) {
	e := Event{Kind: Input, Handle: c.handle, Input: InputState{Closed: true}}
	if c.input != nil {
		e.Input = c.input.InputState
	}
	if !c.exited { // its last event reports everything
		s.tell(e)
	}
}

// Feed passes a process a piece of its standard input, which must begin where the piece before
// it has ended; its Input event reports that there is room for the next one. Feed reports
// whether the process, as far as is known here, still runs. The data must not be changed
// afterwards.
func (c *Client) Feed(h Handle, offset int64, data []byte, last bool) bool {
	return c.request(request{Op: opInput, Handle: h, Offset: offset, Data: data, Last: last})
}
