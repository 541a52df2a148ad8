package journal

import (
	"encoding/binary"
	"fmt"
)

// Every batch that the journal appends has a number, one more than the batch
// before it. The numbers of the last ringSize batches are kept in the store, each
// in the batch that it numbers: number n lies under the key n modulo ringSize. A
// batch whose number is missing among them is a hole.
//
// The ring is longer than the number of batches that a log of the store can hold
// before it is written to tables, each batch taking several hundred bytes of
// memory there. Behind the logs the store itself proves what is missing.
const ringSize = 1 << 16

// hole is a range of batches that the journal wrote and the store no longer holds.
type hole struct{ first, last uint64 }

func (h *hole) String() string {
	if h.first == h.last {
		return fmt.Sprintf("batch %d", h.first)
	}
	return fmt.Sprintf("the batches %d to %d", h.first, h.last)
}

// appendNumber appends the key and the value under which a batch holds its number.
func appendNumber(key, value []byte, n uint64) (k, v []byte) {
	return ringKey(key, n), binary.BigEndian.AppendUint64(value, n)
}

// readNumbers returns the number of the newest batch in the store, 0 when there is
// none, and the newest hole before it.
func readNumbers(s backing) (last uint64, missing *hole, err error) {
	ring := make([]uint64, ringSize)
	err = s.Scan([]byte{prefixRing}, []byte{prefixRing + 1}, func(key, value []byte) error {
		if len(key) != ringKeyLen || len(value) != 8 {
			return fmt.Errorf("the batch number under %x is not 8 bytes long", key)
		}
		n := binary.BigEndian.Uint64(value)
		at := binary.BigEndian.Uint32(key[1:])
		if at >= ringSize || n%ringSize != uint64(at) {
			return fmt.Errorf("the batch number %d lies under %x", n, key)
		}
		ring[at] = n
		last = max(last, n)
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	for n := last; n > 0 && n+ringSize > last; n-- {
		switch {
		case ring[n%ringSize] == n && missing != nil:
			return last, missing, nil
		case ring[n%ringSize] == n:
		case missing == nil:
			missing = &hole{n, n}
		default:
			missing.first = n
		}
	}
	return last, missing, nil
}
