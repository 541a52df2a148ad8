package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// tail is what was read of the stream after the end of the copy: it ends within a batch when its
// writer died there.
type tail struct {
	end   position
	parts []byte // of the batch that is not whole
	next  uint64 // the part that is missing next, 0 without parts
	count uint64
	of    uint64 // the writer of the parts
	by    string // the writer of the last opening
}

// fewMessages is up to how many messages are read one by one, which needs no consumer.
const fewMessages = 512

// readPatiently is readToEnd, and asks servers that do not answer again for as long as the context.
func (s *Store) readPatiently(ctx context.Context) error {
	for {
		err := s.readToEnd(ctx)
		if _, is := errors.AsType[*silentError](err); !is || !delay.For(ctx, retryPause) {
			return err
		}
	}
}

// catchUp reads the stream to its end and applies it to the copy.
func (s *Store) catchUp(ctx context.Context) error {
	for tries := 0; ; tries++ {
		err := s.readPatiently(ctx)
		gap, is := errors.AsType[*gapError](err)
		if !is {
			return err
		}
		info, err := s.info(ctx)
		if err != nil {
			return s.unreachable("reading it", err)
		}
		// The leader may have made a snapshot meanwhile, and purged what was about to be read.
		if info.State.FirstSeq <= gap.sequence || tries > maxPurges {
			return s.lost(gap.Error())
		}
	}
}

// maxPurges is how often a stream may be purged while it is read.
const maxPurges = 10

// gapError is a message that could not be read.
type gapError struct{ sequence, last uint64 }

func (e *gapError) Error() string {
	return fmt.Sprintf("message %d is missing, and it ends at message %d", e.sequence, e.last)
}

func (s *Store) readToEnd(ctx context.Context) error {
	info, err := s.info(ctx)
	if err != nil {
		return s.unreachable("reading it", err)
	}
	if info.Config.Metadata[metaID] != s.id {
		return s.lost("it was removed and made again while this process ran")
	}
	first, last := info.State.FirstSeq, info.State.LastSeq
	s.bytes.Store(info.State.Bytes)
	s.sinceSnapshot.Store(info.State.Bytes)
	s.messages.Store(info.State.Msgs)
	if s.tail.end.sequence > last {
		return s.lost(fmt.Sprintf("it ends at message %d, and message %d had been acknowledged", last, s.tail.end.sequence))
	}
	if s.tail.end.sequence+1 < first {
		if err := s.restore(ctx, first, last); err != nil {
			return err
		}
	} else if err := s.compare(ctx); err != nil {
		return err
	}
	if err := s.read(ctx, last); err != nil {
		return err
	}
	s.last = s.tail.end
	return nil
}

// compare compares the message at the end of the copy with the copy. A message that was purged
// meanwhile cannot be compared: the chain of the one after it is.
func (s *Store) compare(ctx context.Context) error {
	if s.compared == s.tail.end.sequence || s.tail.end.sequence == 0 {
		return nil
	}
	data, found, err := s.get(ctx, s.tail.end.sequence)
	switch {
	case err != nil:
		return s.unreachable("reading it", err)
	case !found:
		return nil
	}
	m, err := decodeMessage(data)
	if err != nil || m.chain != s.tail.end.chain {
		return s.lost(fmt.Sprintf("its message %d is another than the one that had been acknowledged", s.tail.end.sequence))
	}
	s.compared = s.tail.end.sequence
	return nil
}

// read reads the messages up to last.
func (s *Store) read(ctx context.Context, last uint64) error {
	if last-s.tail.end.sequence <= fewMessages {
		return s.readEach(ctx, last)
	}
	c, err := s.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.tail.end.sequence + 1})
	if err != nil {
		return s.unreachable("reading it", err)
	}
	messages, err := c.Messages()
	if err != nil {
		return s.unreachable("reading it", err)
	}
	defer messages.Stop()
	for s.tail.end.sequence < last {
		next, cancel := context.WithTimeout(ctx, replayPatience)
		msg, err := messages.Next(jetstream.NextContext(next))
		cancel()
		if err != nil {
			return s.unreachable("reading it", err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return s.unreachable("reading it", err)
		}
		if err := s.take(meta.Sequence.Stream, msg.Data()); err != nil {
			return err
		}
	}
	return nil
}

// replayPatience bounds the wait for the next message of a replay.
const replayPatience = 10 * time.Second

func (s *Store) readEach(ctx context.Context, last uint64) error {
	for s.tail.end.sequence < last {
		data, found, err := s.get(ctx, s.tail.end.sequence+1)
		switch {
		case err != nil:
			return s.unreachable("reading it", err)
		case !found:
			return &gapError{s.tail.end.sequence + 1, last}
		}
		if err := s.take(s.tail.end.sequence+1, data); err != nil {
			return err
		}
	}
	return nil
}

// take takes the next message of the stream.
func (s *Store) take(sequence uint64, data []byte) error {
	t := &s.tail
	if sequence != t.end.sequence+1 {
		return &gapError{t.end.sequence + 1, sequence}
	}
	m, err := decodeMessage(data)
	if err != nil {
		return s.damaged(sequence, err.Error())
	}
	switch m.chain {
	case chainOf(t.end.chain, data):
	case t.end.chain:
		// The server has stored the message before twice; it counts once.
		t.end.sequence = sequence
		if t.next == 0 {
			return s.apply(nil, t.end)
		}
		return nil
	default:
		return s.damaged(sequence, "it does not follow the message before it")
	}
	t.end.sequence, t.end.chain = sequence, m.chain
	if m.kind == opening {
		t.parts, t.next, t.by, t.end.token = nil, 0, m.who, m.token
		return s.apply(nil, t.end)
	}
	return s.takePart(&m)
}

func (s *Store) takePart(m *message) error {
	t := &s.tail
	if m.index == 0 { // also after parts of a writer that gave up its batch
		t.parts, t.next, t.count, t.of = nil, 0, m.count, m.writer
	}
	switch {
	case m.index != t.next || m.count != t.count || m.writer != t.of:
		return s.damaged(t.end.sequence, fmt.Sprintf("it is part %d of %d of a batch, and part %d is missing", m.index+1, m.count, t.next+1))
	case len(t.parts)+len(m.body) > maxBatch:
		return s.damaged(t.end.sequence, fmt.Sprintf("its batch has more than %d bytes", maxBatch))
	}
	if m.index+1 < m.count {
		t.parts, t.next = append(t.parts, m.body...), m.index+1
		return nil
	}
	changes := m.body
	if m.index > 0 {
		changes = append(t.parts, m.body...)
	}
	t.parts, t.next = nil, 0
	err := s.apply(changes, t.end)
	if errors.Is(err, store.ErrEncoding) {
		return s.damaged(t.end.sequence, err.Error())
	}
	return err
}

func (s *Store) damaged(sequence uint64, what string) error {
	return s.refused(api.Internal, fmt.Sprintf("message %d is damaged: %s", sequence, what), "reading it; nothing was changed",
		"restore the stream from a backup of the NATS servers (nats stream restore)")
}

// info returns the state of the stream, by its leader.
func (s *Store) info(ctx context.Context) (info *jetstream.StreamInfo, err error) {
	err = s.patiently(ctx, func(ctx context.Context) error {
		info, err = s.stream.Info(ctx)
		return err
	})
	return info, err
}

// get returns a message, by the stream's leader.
func (s *Store) get(ctx context.Context, sequence uint64) (data []byte, found bool, err error) {
	err = s.patiently(ctx, func(ctx context.Context) error {
		m, err := s.stream.GetMsg(ctx, sequence)
		switch {
		case err == nil:
			data, found = m.Data, true
		case errors.Is(err, jetstream.ErrMsgNotFound):
			err = nil
		}
		return err
	})
	return data, found, err
}

// patiently repeats a call until it is answered, for as long as the context. The error is the last
// one of a call.
func (s *Store) patiently(ctx context.Context, call func(context.Context) error) error {
	for wait := s.opts.timeout; ; wait = min(2*wait, maxTimeout) {
		once, cancel := context.WithTimeout(ctx, wait)
		began := time.Now()
		err := call(once)
		cancel()
		if err == nil || code(err) != 0 && code(err) != codeNotLeader {
			return err
		}
		if !delay.For(ctx, max(retryPause-time.Since(began), time.Millisecond)) {
			return err
		}
	}
}

// codeNotLeader is the code of an answer while the servers elect a leader.
const codeNotLeader jetstream.ErrorCode = 10008

// retryPause is between two tries of a call that fails at once.
const retryPause = 20 * time.Millisecond
