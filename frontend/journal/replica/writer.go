package replica

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// Lead takes over the stream: it reads it to its end and writes an opening there. When it returns
// no other process can write any more. token is that of the leadership under which this process
// acts, 0 for none: a writer with a higher one is not replaced, because then this process has lost
// its leadership. broken is called when this process cannot write any more, from any goroutine,
// once at most, and not for an error that a call returns.
func (s *Store) Lead(ctx context.Context, token uint64, broken func(error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken.Store(&broken)
	s.writer = rand.Uint64() | 1 //nolint:gosec // a name, no secret
	for {
		if err := s.catchUp(ctx); err != nil {
			return err
		}
		if s.last.token > token {
			return &FencedError{Stream: s.name, By: s.tail.by}
		}
		m := &message{kind: opening, writer: s.writer, token: token, who: s.opts.Who}
		data := m.encode(s.last.chain)
		in, err := s.put(ctx, data)
		if err != nil {
			return err
		}
		if in {
			s.tail.parts, s.tail.next = nil, 0
			s.last = position{s.last.sequence + 1, m.chain, token}
			s.leads = true
			return s.applyWritten(nil)
		}
		// Another process has written meanwhile: read what.
	}
}

// write writes a batch of encoded changes and applies it to the copy. It returns when the stream's
// replicas have it.
func (s *Store) write(ctx context.Context, changes []byte) error {
	if len(changes) > maxBatch {
		return s.refused(api.Invalid, fmt.Sprintf("a batch has %d bytes, the limit is %d", len(changes), maxBatch), "writing it", "submit the job in smaller ones")
	}
	size := s.messageSize()
	count := max(1, (len(changes)+size-1)/size)
	for i := range count {
		m := &message{kind: part, writer: s.writer, index: uint64(i), count: uint64(count), body: changes[i*size : min((i+1)*size, len(changes))]} //nolint:gosec // never negative
		data := m.encode(s.last.chain)
		in, err := s.put(ctx, data)
		if err != nil {
			return err
		}
		if !in {
			return s.fenced(ctx)
		}
		s.last.sequence, s.last.chain = s.last.sequence+1, m.chain
	}
	return s.applyWritten(changes)
}

// applyWritten applies what was written to the copy.
func (s *Store) applyWritten(changes []byte) error {
	s.tail.end = s.last
	return s.apply(changes, s.last)
}

// messageSize returns how many bytes of changes one message may have.
func (s *Store) messageSize() int {
	if s.opts.maxMessage > 0 {
		return s.opts.maxMessage
	}
	size := maxMessageBytes
	if limit := s.js.Conn().MaxPayload(); limit > 0 {
		size = int(min(int64(size), limit))
	}
	return max(size-messageRoom, messageRoom)
}

// put stores a message behind the last one. It returns when the message is stored, or no longer
// can be because another process has written there (false). When an answer did not come, put finds
// out whether the message is stored and never assumes it.
func (s *Store) put(ctx context.Context, data []byte) (in bool, err error) {
	msg := &nats.Msg{Subject: s.subject, Data: data}
	wait, asked := s.opts.timeout, false // asked: an earlier try may have stored it
	for {
		began := time.Now()
		ack, err := s.publish(ctx, msg, wait)
		what := classify(err)
		switch what {
		case stored:
			if ack.Sequence != s.last.sequence+1 {
				return false, s.lost(fmt.Sprintf("it stored a message as number %d, and number %d was next", ack.Sequence, s.last.sequence+1))
			}
			s.stored(len(data))
			return true, nil
		case tooLarge:
			return false, s.refused(api.Internal, fmt.Sprintf("it does not take a message of %d bytes: %v", len(data), err), "writing", "give the NATS servers a max_payload of 1 MiB, and the stream no max_msg_size")
		case full:
			s.setFull(err)
			s.makeRoom(ctx)
		case unknown:
			wait = min(2*wait, maxTimeout)
			asked = true
		case conflict:
		}
		if asked || what == conflict {
			in, done, err := s.find(ctx, data)
			if done || err != nil {
				return in, err
			}
		}
		until := retryPause
		if what == full {
			until = fullPause
		}
		if !delay.For(ctx, max(until-time.Since(began), time.Millisecond)) {
			return false, context.Cause(ctx)
		}
	}
}

// fullPause is between two tries to write to a stream that is full.
const fullPause = 200 * time.Millisecond

func (s *Store) publish(ctx context.Context, msg *nats.Msg, wait time.Duration) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	msg.Header = nil
	return s.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequence(s.last.sequence), jetstream.WithExpectStream(s.name), jetstream.WithRetryAttempts(0))
}

// find finds out whether a message is in the stream. done is false when that is not decided: then
// it is not stored yet, as far as the stream's leader knows, and may be sent again.
func (s *Store) find(ctx context.Context, data []byte) (in, done bool, err error) {
	for {
		there, found, err := s.get(ctx, s.last.sequence+1)
		if err != nil {
			if ended(ctx) {
				return false, true, context.Cause(ctx)
			}
			return false, false, nil // sending it again decides it as well
		}
		switch {
		case found && bytes.Equal(there, data):
			s.stored(len(data))
			return true, true, nil
		case found && s.repeats(there):
			// The server stored the message before twice. Every reader counts it once.
			s.last.sequence++
			continue
		case found:
			return false, true, nil
		}
		info, err := s.info(ctx)
		switch {
		case isCode(err, jetstream.JSErrCodeStreamNotFound):
			return false, true, s.lost("it was removed")
		case err != nil:
			return false, false, nil //nolint:nilerr // sending it again decides it as well
		case info.Config.Metadata[metaID] != s.id:
			return false, true, s.lost("it was removed and made again while this process ran")
		case info.State.LastSeq < s.last.sequence:
			return false, true, s.lost(fmt.Sprintf("it ends at message %d, and message %d had been acknowledged", info.State.LastSeq, s.last.sequence))
		case info.State.FirstSeq > s.last.sequence+1: // another has written, and made a snapshot
			return false, true, nil
		}
		return false, false, nil
	}
}

// repeats reports whether a message is the last one that was written, once more.
func (s *Store) repeats(data []byte) bool {
	m, err := decodeMessage(data)
	return err == nil && s.last.sequence > 0 && m.chain == s.last.chain && m.writer == s.writer
}

// stored counts a message that is in the stream.
func (s *Store) stored(size int) {
	if s.full.Swap(nil) != nil {
		s.opts.Log.Info("the journal's stream has room again", "stream", s.name)
	}
	s.bytes.Add(uint64(size) + messageOverhead)         //nolint:gosec // a length
	s.sinceSnapshot.Add(uint64(size) + messageOverhead) //nolint:gosec // a length
	s.messages.Add(1)
}

// messageOverhead is about what a message takes in a stream besides its data: its subject, its
// headers and its record.
const messageOverhead = 160

// fenced returns why this process cannot write any more, and names the process that does.
func (s *Store) fenced(ctx context.Context) error {
	by := "its name could not be read"
	for sequence := s.last.sequence + 1; sequence < s.last.sequence+fewMessages; sequence++ {
		data, found, err := s.get(ctx, sequence)
		if err != nil || !found {
			break
		}
		if m, err := decodeMessage(data); err == nil && m.kind == opening {
			by = m.who
			break
		}
	}
	return &FencedError{Stream: s.name, By: by}
}

// setFull records that the stream does not take a message.
func (s *Store) setFull(err error) {
	what := err.Error()
	if s.full.Swap(&what) == nil {
		s.opts.Log.Error("the journal's stream has no room: nothing is acknowledged until there is; new jobs are refused as busy", "stream", s.name, "error", err)
	}
}
