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
	pool  sync.Pool // of *[]byte with firstChunk bytes
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

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
		return fmt.Errorf("%w (limit %d bytes)", ErrBudget, b.limit)
	}
	return nil
}

// refund returns n charged bytes.
func (b *Budget) refund(n int) {
	if b != nil {
		b.used.Add(int64(-n))
	}
}

// chunk charges for and returns a buffer of at least n <= firstChunk bytes.
func (b *Budget) chunk(n int) ([]byte, error) {
	if b == nil {
		return make([]byte, n), nil
	}
	if err := b.charge(firstChunk); err != nil {
		return nil, err
	}
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p, nil
	}
	return make([]byte, firstChunk), nil
}

// release returns a buffer that came from chunk or from growing one.
func (b *Budget) release(buf []byte) {
	b.refund(cap(buf))
	if b != nil && cap(buf) == firstChunk {
		buf = buf[:firstChunk]
		b.pool.Put(&buf)
	}
}
