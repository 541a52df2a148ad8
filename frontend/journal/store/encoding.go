package store

import (
	"encoding/binary"
	"errors"
)

// ErrEncoding is returned for bytes that AppendTo has not written.
var ErrEncoding = errors.New("the changes of a batch are not encoded as they should be")

// AppendTo appends the changes, encoded: for each its kind, its key and its value or the end of
// its range, each with its length. Encoded batches can be joined; the result is one batch with
// the changes of all.
func (b *Batch) AppendTo(data []byte) []byte {
	for _, c := range b.changes {
		data = append(data, byte(c.kind))
		data = appendBytes(data, b.keys[c.from:c.to])
		switch c.kind {
		case setKey:
			data = appendBytes(data, c.value)
		case deleteRange:
			data = appendBytes(data, b.keys[c.to:c.end])
		case deleteKey:
		}
	}
	return data
}

func appendBytes(data, v []byte) []byte {
	return append(binary.AppendUvarint(data, uint64(len(v))), v...)
}

// Decode adds the changes that AppendTo has encoded. The batch refers to the data, which must not
// change until it is appended. After an error some changes may have been added.
func (b *Batch) Decode(data []byte) error {
	var key, more []byte
	var ok bool
	for len(data) > 0 {
		kind := changeKind(data[0])
		if key, data, ok = cutBytes(data[1:]); !ok {
			return ErrEncoding
		}
		if kind == setKey || kind == deleteRange {
			if more, data, ok = cutBytes(data); !ok {
				return ErrEncoding
			}
		}
		switch kind {
		case setKey:
			b.Set(key, more)
		case deleteKey:
			b.Delete(key)
		case deleteRange:
			b.DeleteRange(key, more)
		default:
			return ErrEncoding
		}
	}
	return nil
}

func cutBytes(data []byte) (v, rest []byte, ok bool) {
	n, read := binary.Uvarint(data)
	if read <= 0 || n > uint64(len(data)-read) { //nolint:gosec // never negative
		return nil, nil, false
	}
	data = data[read:]
	return data[:n:n], data[n:], true
}
