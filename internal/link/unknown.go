package link

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// unknown is the kinds of messages that a process of the peer does not know, because it is of
// an earlier version. Its successor may know them.
type unknown struct {
	peer  int64 // incarnation
	kinds []sched.Kind
}

func (u *unknown) has(it *wire.Item) bool { return slices.Contains(u.kinds, it.Msg.Kind) }

// learn records which kinds of messages the peer has reported as unknown, in the answer to a
// batch, and passes those of the batch on.
func (l *Link) learn(reply *wire.BatchReply, items []wire.Item) {
	if len(reply.RefusedKinds) == 0 {
		return
	}
	if l.unknown.peer != reply.Incarnation {
		l.unknown = unknown{peer: reply.Incarnation}
	}
	for _, k := range wire.Kinds(reply.RefusedKinds) {
		if !slices.Contains(l.unknown.kinds, k) {
			l.unknown.kinds = append(l.unknown.kinds, k)
		}
	}
	l.known(items)
}

// known returns the messages that the peer knows, and passes the others on.
func (l *Link) known(items []wire.Item) []wire.Item {
	if len(l.unknown.kinds) == 0 {
		return items
	}
	l.mu.Lock()
	peer := l.peer
	l.mu.Unlock()
	if peer != l.unknown.peer || !slices.ContainsFunc(items, func(it wire.Item) bool { return l.unknown.has(&it) }) {
		return items
	}
	var left, out []wire.Item
	for i := range items {
		if l.unknown.has(&items[i]) {
			out = append(out, items[i])
		} else {
			left = append(left, items[i])
		}
	}
	l.opts.OnUnknown(out)
	return left
}
