package frame

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// firstChunk is the memory given to a frame before its bytes have arrived: the
// size a peer declares is a claim, and more is allocated only as bytes arrive.
const firstChunk = 128 << 10

// ErrBudget refuses a frame for which the memory of frames in flight has no room.
var ErrBudget = errors.New("the memory for frames in flight is used up")

// Budget bounds the bytes of all frames in flight that do not fit the read
// buffer of their connection. A nil Budget is unlimited. It never waits:
// frames that wait for each other's memory would stall together.
type Budget struct {
	limit int64
	used  atomic.Int64
	pool  sync.Pool // of *[]byte with firstChunk bytes; that of whole, for a part
	whole *Budget   // the one that this is a part of, nil for none
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Part returns a budget for some of the frames: what is charged to it is charged to b too, and is
// at most limit bytes. A part of nil is unlimited.
func (b *Budget) Part(limit int64) *Budget {
	if b == nil {
		return nil
	}
	return &Budget{limit: limit, whole: b}
}

// Used returns the bytes in flight.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// charge charges n bytes, or charges nothing and returns the reason.
func (b *Budget) charge(n int) error {
	if b == nil {
		return nil
	}
	if b.used.Add(int64(n)) > b.limit {
		b.used.Add(int64(-n))
		if b.whole != nil {
			return fmt.Errorf("%w (limit %d bytes of one caller)", ErrBudget, b.limit)
		}
		return fmt.Errorf("%w (limit %d bytes)", ErrBudget, b.limit)
	}
	if err := b.whole.charge(n); err != nil {
		b.used.Add(int64(-n))
		return err
	}
	return nil
}

// refund returns n charged bytes.
func (b *Budget) refund(n int) {
	for ; b != nil; b = b.whole {
		b.used.Add(int64(-n))
	}
}

// buffers returns the pool of buffers.
func (b *Budget) buffers() *sync.Pool {
	for b.whole != nil {
		b = b.whole
	}
	return &b.pool
}

// chunk charges for and returns a buffer of at least n <= firstChunk bytes.
func (b *Budget) chunk(n int) ([]byte, error) {
	if b == nil {
		return make([]byte, n), nil
	}
	if err := b.charge(firstChunk); err != nil {
		return nil, err
	}
	if p, ok := b.buffers().Get().(*[]byte); ok {
		return *p, nil
	}
	return make([]byte, firstChunk), nil
}

// release returns a buffer that came from chunk or from growing one.
func (b *Budget) release(buf []byte) {
	b.refund(cap(buf))
	if b != nil && cap(buf) == firstChunk {
		buf = buf[:firstChunk]
		b.buffers().Put(&buf)
	}
}
