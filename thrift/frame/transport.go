package frame

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/thrift/lib/go/thrift"
)

// keepBuffer is the largest write buffer that a connection keeps between calls.
const keepBuffer = 32 << 10

// ErrTooLarge refuses to write a message beyond the frame limit.
var ErrTooLarge = errors.New("the message exceeds the frame limit")

// Link is the connection under a Transport.
type Link interface {
	// Next returns the next frame's bytes, valid until the next call.
	Next() ([]byte, error)
	// Send writes one whole frame, its size included.
	Send(frame []byte) error
}

// Transport lets the binary protocol read one frame and collects its output in
// another, sent by Flush in one write. The same Transport serves both directions.
// It is for one goroutine.
type Transport struct {
	link  Link
	limit int
	in    []byte // the rest of the frame being parsed
	out   []byte // HeaderSize bytes of room, then the message so far
	bad   error  // the reason why the message being written cannot be sent
}

var _ thrift.TRichTransport = (*Transport)(nil)
var _ thrift.TTransport = (*Transport)(nil)

// NewTransport returns a transport over link that writes frames of up to limit
// bytes.
func NewTransport(link Link, limit int) *Transport {
	return &Transport{link: link, limit: limit, out: make([]byte, HeaderSize, 512)}
}

// Protocol returns the binary protocol over t: strict when writing, lenient when
// reading, no list beyond maxElements.
func (t *Transport) Protocol(maxElements int) thrift.TProtocol {
	strictRead, strictWrite := false, true
	return thrift.NewTBinaryProtocolConf(t, &thrift.TConfiguration{
		MaxMessageSize:     int32(t.limit), //nolint:gosec // limits are checked to fit by the options
		MaxFrameSize:       int32(t.limit), //nolint:gosec // as above
		MaxContainerSize:   int32(maxElements),
		TBinaryStrictRead:  &strictRead,
		TBinaryStrictWrite: &strictWrite,
	})
}

// Load makes b the frame to parse and drops anything half written.
func (t *Transport) Load(b []byte) {
	t.in = b
	t.reset()
}

// RemainingBytes returns the size of the rest of the frame, which bounds the sizes of lists
// and strings for the protocol.
func (t *Transport) RemainingBytes() uint64 { return uint64(len(t.in)) }

// Read reads from the current frame and asks for the next only at its end. A
// link that has none returns io.ErrUnexpectedEOF.
func (t *Transport) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := t.more(); err != nil {
		return 0, err
	}
	n := copy(p, t.in)
	t.in = t.in[n:]
	return n, nil
}

// ReadByte reads one byte as Read does.
func (t *Transport) ReadByte() (byte, error) {
	if err := t.more(); err != nil {
		return 0, err
	}
	b := t.in[0]
	t.in = t.in[1:]
	return b, nil
}

// more ensures that there is a byte to read. It skips empty frames.
func (t *Transport) more() (err error) {
	for len(t.in) == 0 && err == nil {
		t.in, err = t.link.Next()
	}
	return err
}

// Write adds to the message being written.
func (t *Transport) Write(p []byte) (int, error) {
	if err := t.room(len(p)); err != nil {
		return 0, err
	}
	t.out = append(t.out, p...)
	return len(p), nil
}

// WriteString adds to the message being written.
func (t *Transport) WriteString(s string) (int, error) {
	if err := t.room(len(s)); err != nil {
		return 0, err
	}
	t.out = append(t.out, s...)
	return len(s), nil
}

// WriteByte adds to the message being written.
func (t *Transport) WriteByte(b byte) error {
	if err := t.room(1); err != nil {
		return err
	}
	t.out = append(t.out, b)
	return nil
}

// room rejects bytes beyond the limit, and from then on everything until Flush, so that
// no message with missing bytes is sent.
func (t *Transport) room(n int) error {
	if t.bad == nil && len(t.out)-HeaderSize+n > t.limit {
		t.bad = fmt.Errorf("%w of %d bytes", ErrTooLarge, t.limit)
	}
	return t.bad
}

// Flush sends the message, or returns why it could not be written whole.
func (t *Transport) Flush(context.Context) error {
	defer t.reset()
	if t.bad != nil {
		return t.bad
	}
	if len(t.out) == HeaderSize {
		return nil
	}
	binary.BigEndian.PutUint32(t.out, uint32(len(t.out)-HeaderSize)) //nolint:gosec // at most limit, an int32
	return t.link.Send(t.out)
}

func (t *Transport) reset() {
	t.bad = nil
	t.out = t.out[:HeaderSize]
	if cap(t.out) > keepBuffer {
		t.out = make([]byte, HeaderSize, 512)
	}
}

// Open does nothing: the connection has an owner.
func (t *Transport) Open() error { return nil }

// Close does nothing: the connection has an owner.
func (t *Transport) Close() error { return nil }

// IsOpen is always true: the owner of the connection keeps its state.
func (t *Transport) IsOpen() bool { return true }

// Ended is a Link's answer when a message runs past its frame.
func Ended() ([]byte, error) { return nil, io.ErrUnexpectedEOF }
