package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"
)

// maxName bounds a method name; the longest of ours has 20 bytes.
const maxName = 256

// Header is the part of a message before its arguments.
type Header struct {
	Name []byte // of the method; points into the frame
	Type thrift.TMessageType
	Seq  int32
}

// ParseHeader parses the header of a message of the binary protocol, with its version
// (strict) or without. The error names the protocol that the bytes resemble.
func ParseHeader(b []byte) (Header, error) {
	if len(b) >= 4 && b[0] == 0x80 && b[1] == 0x01 {
		h := Header{Type: thrift.TMessageType(b[3])}
		name, rest, ok := cutName(b[4:])
		if !ok || len(rest) < 4 {
			return Header{}, errors.New("a Thrift message ends within its header")
		}
		h.Name, h.Seq = name, int32(binary.BigEndian.Uint32(rest)) //nolint:gosec // a bit pattern
		return h, nil
	}
	name, rest, ok := cutName(b)
	if ok && len(rest) >= 5 && rest[0] >= 1 && rest[0] <= 4 {
		seq := int32(binary.BigEndian.Uint32(rest[1:])) //nolint:gosec // a bit pattern
		return Header{Name: name, Type: thrift.TMessageType(rest[0]), Seq: seq}, nil
	}
	return Header{}, fmt.Errorf("the frame is no message of Thrift's binary protocol%s", guessFrame(b))
}

// cutName splits a string with its four-byte length off b.
func cutName(b []byte) (name, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if n > maxName || int(n) > len(b)-4 {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}

// guessFrame names the protocol of a frame that is not binary Thrift.
func guessFrame(b []byte) string {
	switch {
	case len(b) > 0 && b[0] == 0x82:
		return "; it looks like the compact protocol"
	case len(b) > 0 && b[0] == '[':
		return "; it looks like the JSON protocol"
	}
	return ""
}

// guessStream returns the protocol that the peer speaks if its first four bytes, read as
// a size, are beyond every limit. It returns "" if the frame may just be large.
func guessStream(head []byte) string {
	for _, word := range []string{"GET ", "POST", "PUT ", "HEAD", "OPTI", "DELE", "PATC", "CONN", "PRI "} {
		if bytes.Equal(head, []byte(word)) {
			return "HTTP"
		}
	}
	switch {
	case bytes.Equal(head, []byte("HTTP")):
		return "HTTP"
	case bytes.Equal(head, []byte("INFO")):
		return "NATS"
	case head[0] == 0x16 && head[1] == 0x03:
		return "TLS"
	case head[0] == 0x80 && head[1] == 0x01:
		return "unframed Thrift binary"
	case head[0] == 0x82:
		return "unframed Thrift compact"
	case bytes.Equal(head, []byte("SSH-")):
		return "SSH"
	case head[0] == 0x0f && head[1] == 0xff:
		return "Thrift with THeader"
	}
	return ""
}
