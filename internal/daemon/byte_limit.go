package daemon

import (
	"fmt"
	"sync/atomic"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// ByteLimit bounds the bytes of the batches that wait for a daemon's owner goroutine. It is
// safe for concurrent use.
type ByteLimit struct {
	setting string // or a description of a limit that is no setting
	limit   int64
	waiting atomic.Int64
	refused atomic.Uint64
}

// NewByteLimit returns a limit with nothing waiting.
func NewByteLimit(setting string, limit int64) *ByteLimit {
	return &ByteLimit{setting: setting, limit: limit}
}

// Enter counts a batch that will wait, and returns its bytes for Leave. The error names the
// limit; a batch is always accepted when none waits.
func (l *ByteLimit) Enter(b *wire.Batch) (bytes int64, err error) {
	for i := range b.Items {
		bytes += int64(b.Items[i].Size())
	}
	if waiting := l.waiting.Add(bytes); waiting > l.limit && waiting > bytes {
		l.waiting.Add(-bytes)
		l.refused.Add(1)
		return 0, fmt.Errorf("batches of %d bytes wait in the daemon's inbox (%s %d)", waiting-bytes, l.setting, l.limit)
	}
	return bytes, nil
}

// Leave counts a batch that waits no longer.
func (l *ByteLimit) Leave(bytes int64) { l.waiting.Add(-bytes) }

// Refused counts the batches that had no room.
func (l *ByteLimit) Refused() uint64 { return l.refused.Load() }
