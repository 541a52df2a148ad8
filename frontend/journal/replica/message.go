package replica

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// The messages of a stream. All numbers are big-endian, lengths are uvarints.
//
//	version kind writer(8) chain(8)  opening: token(8), and the writer from here on, in words
//	                                 part:    index, count, and a part of a batch's changes
//
// A batch is one message, or several that follow one another when it is larger than a message may
// be. The chain is a hash over the message and the chain of the message before it, so a message
// that is missing, or replaced by another, is detected.
const (
	messageVersion = 1
	headerLen      = 18
	chainAt        = 10
)

type messageKind byte

const (
	opening messageKind = iota + 1 // a writer takes the stream over
	part                           // a part of a batch
)

// message is a message of the stream, decoded.
type message struct {
	kind   messageKind
	writer uint64
	chain  uint64
	token  uint64 // opening: of the writer's leadership, 0 for none
	who    string // opening
	index  uint64 // part
	count  uint64 // part
	body   []byte // part
}

// encode returns the message, with the chain that follows the one before it.
func (m *message) encode(before uint64) []byte {
	data := make([]byte, 0, headerLen+2*binary.MaxVarintLen64+8+len(m.body)+len(m.who))
	data = append(data, messageVersion, byte(m.kind))
	data = binary.BigEndian.AppendUint64(data, m.writer)
	data = binary.BigEndian.AppendUint64(data, 0) // the chain
	if m.kind == opening {
		data = append(binary.BigEndian.AppendUint64(data, m.token), m.who...)
	} else {
		data = binary.AppendUvarint(binary.AppendUvarint(data, m.index), m.count)
		data = append(data, m.body...)
	}
	m.chain = chainOf(before, data)
	binary.BigEndian.PutUint64(data[chainAt:], m.chain)
	return data
}

// chainOf returns the chain of a message that follows one with the chain before.
func chainOf(before uint64, data []byte) uint64 {
	h := sha256.New()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], before)
	h.Write(b[:])
	h.Write(data[:chainAt])
	h.Write(data[headerLen:])
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// decodeMessage reads a message. The body refers to the data.
func decodeMessage(data []byte) (m message, err error) {
	if len(data) < headerLen {
		return m, fmt.Errorf("it has %d bytes, fewer than a message of a journal", len(data))
	}
	if data[0] != messageVersion {
		return m, fmt.Errorf("it has version %d, this program reads version %d", data[0], messageVersion)
	}
	m.kind = messageKind(data[1])
	m.writer = binary.BigEndian.Uint64(data[2:])
	m.chain = binary.BigEndian.Uint64(data[chainAt:])
	rest := data[headerLen:]
	switch m.kind {
	case opening:
		if len(rest) < 8 {
			return m, fmt.Errorf("it is an opening without a token")
		}
		m.token, m.who = binary.BigEndian.Uint64(rest), string(rest[8:])
		return m, nil
	case part:
		var n, k int
		if m.index, n = binary.Uvarint(rest); n > 0 {
			m.count, k = binary.Uvarint(rest[n:])
		}
		if n <= 0 || k <= 0 || m.index >= m.count {
			return m, fmt.Errorf("it does not say which part of a batch it is")
		}
		m.body = rest[n+k:]
		return m, nil
	}
	return m, fmt.Errorf("it is of kind %d, which does not exist", m.kind)
}
