package link

import (
	"errors"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// ErrStale is returned for messages to a process that has ended; Reset ends this state.
var ErrStale = errors.New("the peer is another process than before; register again first")

// ErrClosed refuses messages after Close.
var ErrClosed = errors.New("the link is closed")

// Send queues messages in order, all or none, and never blocks. From then on the
// link owns the data to which they point. The error is ErrStale, ErrClosed, or an
// *api.Error (api.Busy) that names the limit.
func (l *Link) Send(items ...wire.Item) error {
	bytes := 0
	for i := range items {
		bytes += items[i].Size()
	}
	l.mu.Lock()
	err := l.room(len(items), bytes)
	if err == nil {
		l.queue = append(l.queue, items...)
		l.queueBytes += bytes
		l.stats.Queued += len(items)
		l.stats.Bytes += bytes
	}
	l.mu.Unlock()
	if err == nil {
		l.poke()
	}
	return err
}

// room returns why so much cannot be queued. It needs the lock.
func (l *Link) room(items, bytes int) error {
	switch {
	case l.closed:
		return ErrClosed
	case l.stale:
		l.stats.Dropped += uint64(items) //nolint:gosec // a length
		return ErrStale
	case l.stats.Queued+items > l.opts.MaxItems:
		return l.full(items, fmt.Sprintf("%d messages are queued (limit %d)", l.stats.Queued, l.opts.MaxItems))
	case l.stats.Bytes+bytes > l.opts.MaxBytes:
		return l.full(items, fmt.Sprintf("%d bytes are queued (limit %d)", l.stats.Bytes, l.opts.MaxBytes))
	}
	return nil
}

func (l *Link) full(items int, what string) error {
	l.stats.Full += uint64(items) //nolint:gosec // a length
	return &api.Error{
		Problem: api.Busy, Subject: "the link to " + l.opts.Peer.String(), What: what,
		Tried: fmt.Sprintf("sending %d messages", items), Next: "check that the peer runs and keeps up",
		RetryAfter: l.opts.RetryMax,
	}
}

// poke wakes the sender; a wake-up that waits already is enough.
func (l *Link) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// parcel is a batch's messages and what they count for.
type parcel struct {
	items []wire.Item
	count int // messages to take off the queue's count when done
	bytes int
}

// collect removes everything that is queued and returns it, with its bytes and the generation
// it belongs to. Messages wait in order, so all of it goes before what comes next.
func (l *Link) collect() (items []wire.Item, bytes int, gen uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	items, bytes, gen = l.queue, l.queueBytes, l.gen
	if len(items) > 0 {
		l.queue, l.queueBytes, l.spare = l.spare, 0, nil
	}
	return items, bytes, gen
}

// maxSpare bounds the queue that is kept for reuse, of items with about 600 bytes each.
const maxSpare = 256

// recycle keeps an emptied queue for later messages: the peer has its former content, or no
// caller waits for that.
func (l *Link) recycle(items []wire.Item) {
	if cap(items) > maxSpare {
		return
	}
	clear(items)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = items[:0]
}

// parcels cuts items into batches.
func (l *Link) parcels(items []wire.Item, bytes int) (parcels []parcel) {
	if len(items) <= l.opts.BatchItems && bytes <= l.opts.BatchBytes {
		return []parcel{{items, len(items), bytes}}
	}
	for _, run := range wire.Cut(items, l.opts.BatchBytes) {
		for len(run) > 0 {
			n := min(len(run), l.opts.BatchItems)
			parcels = append(parcels, parcel{items: run[:n:n]})
			run = run[n:]
		}
	}
	// Cutting may have divided messages; the last parcel carries the count.
	last := &parcels[len(parcels)-1]
	last.count, last.bytes = len(items), bytes
	return parcels
}

// release subtracts a parcel from the counts of the queue, unless Reset has done so.
func (l *Link) release(p parcel, gen uint64, count func(*Stats)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count(&l.stats)
	if l.gen == gen {
		l.stats.Queued -= p.count
		l.stats.Bytes -= p.bytes
	}
}

// clear drops everything queued and in progress. It needs the lock.
func (l *Link) clear() {
	l.stats.Dropped += uint64(l.stats.Queued) //nolint:gosec // never negative
	l.stats.Queued, l.stats.Bytes = 0, 0
	l.queue, l.queueBytes = nil, 0
	l.gen++
	l.cancelGen()
	l.genCtx, l.cancelGen = newGeneration(l.base)
}
