package relay

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// queue holds the messages that wait for one destination. All fields but wake and more are guarded
// by the relay's mu.
type queue[M any] struct {
	to      string
	group   string
	streams map[string]*stream[M] // by name; none is empty
	ready   []*stream[M]          // those that are not held, in the order of their turns
	all     amount
	refused amount            // what waits of all refused streams
	users   map[string]amount // what waits of each user; none is zero
	wake    chan struct{}     // of size 1: requests a call at once
	more    chan struct{}     // of size 1: a stream has become ready
}

// stream holds messages that are delivered in order.
type stream[M any] struct {
	name     string
	messages []message[M]
	all      amount
	refused  bool                        // since the destination refused its first message; it is tried again from time to time
	pauses   *backoff.ExponentialBackOff // between the tries, while refused
}

type message[M any] struct {
	body M
	user string
	size int
	sent time.Time
}

// amount is a number of messages, and their bytes.
type amount struct{ messages, bytes int }

func (a *amount) add(messages, bytes int) {
	a.messages += messages
	a.bytes += bytes
}

func newQueue[M any](to, group string) *queue[M] {
	return &queue[M]{to: to, group: group, streams: map[string]*stream[M]{}, users: map[string]amount{}, wake: make(chan struct{}, 1), more: make(chan struct{}, 1)}
}

// add appends a message to its stream.
func (q *queue[M]) add(name string, m message[M]) *stream[M] {
	s := q.streams[name]
	if s == nil {
		s = &stream[M]{name: name}
		q.streams[name] = s
		q.release(s)
	}
	s.messages = append(s.messages, m)
	return s
}

// release gives a stream its turns again.
func (q *queue[M]) release(s *stream[M]) {
	q.ready = append(q.ready, s)
	select {
	case q.more <- struct{}{}:
	default: // it will be looked at
	}
}

// endTurn ends the turn of the first ready stream: it has the next one after all others, if messages of
// it are left.
func (q *queue[M]) endTurn(s *stream[M]) {
	q.ready[0] = nil
	q.ready = q.ready[1:]
	if len(s.messages) > 0 {
		q.ready = append(q.ready, s)
		return
	}
	delete(q.streams, s.name)
}

// refuse ends the turns of the first ready stream until it is released. It reports whether the stream was
// not refused before.
func (q *queue[M]) refuse(s *stream[M]) (first bool) {
	q.ready[0] = nil
	q.ready = q.ready[1:]
	if s.refused {
		return false
	}
	s.refused = true
	q.refused.add(s.all.messages, s.all.bytes)
	return true
}

// accept notes that the destination takes messages of a stream again.
func (q *queue[M]) accept(s *stream[M]) {
	if s.refused {
		s.refused = false
		q.refused.add(-s.all.messages, -s.all.bytes)
	}
}
