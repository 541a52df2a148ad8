package frontend

import (
	"fmt"
	"sync/atomic"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// waiting bounds the bytes of the batches that wait for the owner goroutine while their
// senders do not wait for an answer. Every other caller waits, and the memory of its call is
// bounded by its server. It may be used from anywhere.
type waiting struct {
	limit   int64
	post    func(do func()) error
	bytes   atomic.Int64
	refused atomic.Uint64
}

// accept runs do on the owner goroutine, or returns why there is no room for the batch.
func (w *waiting) accept(b *wire.Batch, do func()) error {
	size := int64(b.Size())
	if held := w.bytes.Add(size); held > w.limit && held > size {
		w.bytes.Add(-size)
		w.refused.Add(1)
		return fmt.Errorf("batches of %d bytes wait for the core and %d more would pass the limit of %d (inbox_bytes)", held-size, size, w.limit)
	}
	err := w.post(func() {
		defer w.bytes.Add(-size)
		do()
	})
	if err != nil {
		w.bytes.Add(-size)
	}
	return err
}
