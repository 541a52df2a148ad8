package guard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/tinylib/msgp/msgp"
)

// A frame is a message of package msgp after its length, 4 bytes, most significant first.
const (
	frameHead = 4
	maxFrame  = 256 << 20
)

var errFrame = errors.New("a message between a node monitor and its guard is larger than 256 MiB")

// appendFrame appends a message as a frame.
func appendFrame(b []byte, m msgp.Marshaler) ([]byte, error) {
	at := len(b)
	out, err := m.MarshalMsg(append(b, 0, 0, 0, 0))
	if err != nil {
		return b, err
	}
	size := len(out) - at - frameHead
	if size > maxFrame {
		return b, errFrame
	}
	binary.BigEndian.PutUint32(out[at:], uint32(size)) //nolint:gosec // limited above
	return out, nil
}

// cutFrame returns the message of the first frame of b, and what follows it; nil when the frame is
// not complete.
func cutFrame(b []byte) (message, rest []byte, err error) {
	if len(b) < frameHead {
		return nil, b, nil
	}
	size := int64(binary.BigEndian.Uint32(b))
	if size > maxFrame {
		return nil, b, errFrame
	}
	end := frameHead + int(size)
	if len(b) < end {
		return nil, b, nil
	}
	return b[frameHead:end:end], b[end:], nil
}

// readFrame reads the next message into buf, or into a larger array.
func readFrame(r io.Reader, buf []byte) ([]byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return buf, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return buf, errFrame
	}
	if int(size) > cap(buf) {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	_, err := io.ReadFull(r, buf)
	return buf, err
}

// decode reads a message that ends with b.
func decode(m msgp.Unmarshaler, b []byte) error {
	rest, err := m.UnmarshalMsg(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow a message", len(rest))
	}
	return err
}
