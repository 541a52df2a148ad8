package link

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// MaxSenders bounds the senders that an inbox remembers, so that a peer cannot fill the memory
// by inventing some. The batches of another one are refused until others were forgotten.
const MaxSenders = 1 << 17

// Inbox is the receiving end of the links of all peers. It is safe for
// concurrent use; the batches of one sender are taken one at a time. It remembers
// the senders whose batches it took, until Forget.
type Inbox struct {
	self        wire.Ref // this daemon
	incarnation int64
	misdirected atomic.Uint64

	mu      sync.Mutex
	senders map[wire.Ref]*sender
}

// sender is the state of the batches of one peer.
type sender struct {
	calls int // of Accept in progress; guarded by the inbox

	mu        sync.Mutex // held while a batch is taken
	processes protocol.Incarnations
	last      uint64 // the highest sequence taken of the current one
}

// NewInbox returns the inbox of a daemon's process of the given incarnation.
func NewInbox(self wire.Ref, incarnation int64) *Inbox {
	return &Inbox{self: self, incarnation: incarnation, senders: make(map[wire.Ref]*sender)}
}

// Accept hands a batch to take unless it is a repeat, and returns what to answer.
// take is called for one batch of a sender at a time, in the sender's order. When
// it returns an error nothing is remembered: the batch may come again, or a
// later one instead. problem becomes the reply's Problem, an error the call's.
//
// A batch that names another receiver is refused: that daemon served at this address
// before, and its messages would be applied to another daemon's state. One that names
// another process of this daemon is not taken: the sender learns from the reply that it has
// to register here first, and its later messages allow for what the other process did.
//
// Sequence numbers may have gaps: the sender leaves out what was refused.
func (in *Inbox) Accept(b *wire.Batch, take func(*wire.Batch) (problem string, err error)) (wire.BatchReply, error) {
	reply := wire.BatchReply{Incarnation: in.incarnation}
	if b.Receiver != (wire.Ref{}) && b.Receiver.Daemon() != in.self {
		in.misdirected.Add(1)
		reply.Problem = fmt.Sprintf("this is %v, and the batch is meant for %v; it was refused", in.self, b.Receiver)
		return reply, nil
	}
	if b.ReceiverIncarnation != 0 && b.ReceiverIncarnation != in.incarnation {
		return reply, nil
	}
	s, err := in.enter(b.Sender.Daemon())
	if err != nil {
		return reply, err
	}
	defer in.leave(b.Sender.Daemon(), s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Incarnation == s.processes.Current() {
		reply.Sequence = s.last
	}
	switch {
	case s.processes.Superseded(b.Incarnation):
		reply.Problem = fmt.Sprintf("%v has started again since it sent this batch", b.Sender)
		return reply, nil
	case b.Incarnation == s.processes.Current() && b.Sequence <= s.last:
		return reply, nil
	}
	problem, err := take(b)
	if err != nil || problem != "" {
		reply.Problem = problem
		return reply, err
	}
	s.processes.Enter(b.Incarnation)
	s.last, reply.Sequence = b.Sequence, b.Sequence
	return reply, nil
}

// Forget drops the state of a sender that has been gone for so long that no batch of it is
// in transit: such a batch would be taken as new.
func (in *Inbox) Forget(peer wire.Ref) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.senders, peer.Daemon())
}

// Misdirected counts the batches refused because they are meant for another daemon.
func (in *Inbox) Misdirected() uint64 { return in.misdirected.Load() }

// Len counts the senders that are not forgotten.
func (in *Inbox) Len() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.senders)
}

// enter returns the sender of a batch, until leave.
func (in *Inbox) enter(peer wire.Ref) (*sender, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.senders[peer]
	if s == nil {
		if len(in.senders) >= MaxSenders {
			return nil, &api.Error{
				Problem: api.Busy, What: fmt.Sprintf("the daemon remembers %d senders of messages, which is its limit", MaxSenders), Subject: peer.String(),
				Tried: fmt.Sprintf("accepting its messages at %v", in.self), Next: "send them again; senders are forgotten some time after they have left the cluster", RetryAfter: time.Second,
			}
		}
		s = &sender{}
		in.senders[peer] = s
	}
	s.calls++
	return s, nil
}

// leave follows enter. A sender whose batches were all refused is not remembered: it may never
// become a member, and then no caller would forget it.
func (in *Inbox) leave(peer wire.Ref, s *sender) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s.calls--
	if s.calls == 0 && s.processes.Current() == 0 && in.senders[peer] == s {
		delete(in.senders, peer)
	}
}
