package frame

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// HeaderSize is the number of bytes before a frame's message.
const HeaderSize = 4

// BufferSize is each connection's read buffer. A frame that fits is parsed in
// place, without a copy, an allocation or a charge to the budget.
const BufferSize = 8192

// OversizeError is the error for a frame larger than the reader accepts, or for
// bytes that are no frame at all.
type OversizeError struct {
	Size, Limit int
	Guess       string // the protocol that the peer seems to speak, or empty
}

func (e *OversizeError) Error() string {
	if e.Guess != "" {
		return "the peer speaks " + e.Guess + " where framed Thrift binary is expected"
	}
	return fmt.Sprintf("a frame of %d bytes exceeds the limit of %d", e.Size, e.Limit)
}

// Reader reads frames from a connection, which it does not close. Its calls come
// in the order Wait, Size, Body, Release; between them the owner sets deadlines.
// It is for one goroutine.
type Reader struct {
	br     *bufio.Reader
	limit  int
	budget *Budget
	size   int     // of the current frame, set by Size
	large  []byte  // the charged buffer of the current frame, or nil
	paid   *Budget // to which large is charged
}

// NewReader reads frames of up to limit bytes from r. budget may be nil.
func NewReader(r io.Reader, limit int, budget *Budget) *Reader {
	return &Reader{br: bufio.NewReaderSize(r, BufferSize), limit: limit, budget: budget}
}

// Charge makes budget that of later frames.
func (r *Reader) Charge(budget *Budget) { r.budget = budget }

// Wait blocks until the first byte of a frame is there. io.EOF means that the
// peer closed between frames.
func (r *Reader) Wait() error {
	_, err := r.br.Peek(1)
	return err
}

// Buffered returns the bytes read from the connection and not yet consumed.
func (r *Reader) Buffered() int { return r.br.Buffered() }

// Size returns the size of the frame that begins here.
func (r *Reader) Size() (int, error) {
	head, err := r.br.Peek(HeaderSize)
	if err != nil {
		return 0, unexpected(err)
	}
	size := binary.BigEndian.Uint32(head)
	if uint64(size) > uint64(r.limit) {
		return 0, &OversizeError{Size: int(size), Limit: r.limit, Guess: guessStream(head)}
	}
	r.size = int(size)
	return r.size, nil
}

// Body returns the bytes of the frame that Size has begun. They are valid until
// Release.
func (r *Reader) Body() ([]byte, error) {
	whole := HeaderSize + r.size
	if whole <= BufferSize {
		b, err := r.br.Peek(whole)
		if err != nil {
			return nil, unexpected(err)
		}
		_, err = r.br.Discard(whole)
		return b[HeaderSize:], err
	}
	if _, err := r.br.Discard(HeaderSize); err != nil {
		return nil, err
	}
	return r.readLarge()
}

// Begin returns the beginning of the frame that Size has begun, enough for the header of its message, and reads
// past the rest without keeping it.
func (r *Reader) Begin() ([]byte, error) {
	b, err := r.br.Peek(min(HeaderSize+r.size, 2*maxName))
	if err != nil {
		return nil, unexpected(err)
	}
	b = bytes.Clone(b[HeaderSize:])
	_, err = r.br.Discard(HeaderSize + r.size)
	return b, unexpected(err)
}

// Release frees the memory of the frame. It is safe to call at any time.
func (r *Reader) Release() {
	if r.large != nil {
		r.paid.release(r.large)
		r.large = nil
	}
}

// readLarge reads a frame beyond the read buffer, charging for memory only as
// the bytes arrive.
func (r *Reader) readLarge() ([]byte, error) {
	buf, err := r.budget.chunk(min(r.size, firstChunk))
	if err != nil {
		return nil, err
	}
	r.large, r.paid = buf, r.budget
	for have := 0; ; {
		want := min(r.size, cap(r.large))
		n, err := io.ReadFull(r.br, r.large[have:want])
		have += n
		if err != nil {
			return nil, unexpected(err)
		}
		if have == r.size {
			return r.large[:have], nil
		}
		if err := r.grow(have); err != nil {
			return nil, err
		}
	}
}

// grow doubles the buffer, keeping its first have bytes.
func (r *Reader) grow(have int) error {
	larger := min(2*cap(r.large), r.size)
	if err := r.paid.charge(larger); err != nil {
		return err
	}
	buf := make([]byte, larger)
	copy(buf, r.large[:have])
	r.paid.release(r.large)
	r.large = buf
	return nil
}

// unexpected turns the end of the stream within a frame into its own error.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
