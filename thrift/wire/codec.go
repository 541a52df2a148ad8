package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// Codec translates batches for one daemon. It may be used by many goroutines.
type Codec struct {
	directory Directory
	now       func() sched.Time
	unknown   func(sender Ref, kind int8)
	kinds     [128]sched.Kind // by number; KindNone for one that is unknown
	buffers   sync.Pool       // of *thrift.TSerializer
	readers   *thrift.TDeserializerPool
}

// NewCodec returns the translation for a daemon with that directory of names and
// that clock, the one its cores' instants are counted by.
func NewCodec(directory Directory, now func() sched.Time) *Codec {
	conf := &thrift.TConfiguration{MaxMessageSize: MaxBatchBytes, MaxFrameSize: MaxBatchBytes, MaxContainerSize: api.MaxTasks}
	return &Codec{
		directory: directory,
		now:       now,
		unknown:   func(Ref, int8) {},
		kinds:     kindsByNumber,
		buffers:   sync.Pool{New: func() any { return thrift.NewTSerializer() }},
		readers:   thrift.NewTDeserializerPoolSizeFactory(1024, thrift.NewTBinaryProtocolFactoryConf(conf)),
	}
}

// OnUnknown makes the codec call report, from any goroutine, with each message that was left out
// of a batch because this version does not know its kind. It is called before the first use.
func (c *Codec) OnUnknown(report func(sender Ref, kind int8)) { c.unknown = report }

// Unlearn makes the codec not know kinds of messages, like that of an earlier version. It is
// for tests of versions next to each other, and is called before the first use.
func (c *Codec) Unlearn(kinds ...sched.Kind) {
	for _, k := range kinds {
		c.kinds[kindNumbers[k]] = sched.KindNone
	}
}

// Append appends the batch in the form it has on NATS: the Thrift struct in the
// binary protocol.
func (c *Codec) Append(dst []byte, b *Batch) ([]byte, error) {
	t, err := c.batchTo(b)
	if err != nil {
		return dst, err
	}
	s, _ := c.buffers.Get().(*thrift.TSerializer)
	defer c.buffers.Put(s)
	s.Transport.Reset()
	if err := t.Write(context.Background(), s.Protocol); err != nil {
		return dst, refuseBatch(b.Sender, fmt.Sprintf("it cannot be written: %v", err))
	}
	if n := s.Transport.Len(); n > MaxBatchBytes {
		return dst, refuseBatch(b.Sender, fmt.Sprintf("it has %d bytes, more than the limit of %d", n, MaxBatchBytes))
	}
	return append(dst, s.Transport.Bytes()...), nil
}

// Decode decodes the output of Append. The batch keeps no reference to data.
func (c *Codec) Decode(data []byte) (*Batch, error) {
	if len(data) > MaxBatchBytes {
		return nil, refuseBatch(Ref{}, fmt.Sprintf("it has %d bytes, more than the limit of %d", len(data), MaxBatchBytes))
	}
	t := peer.NewTBatch()
	if err := c.readers.Read(context.Background(), t, data); err != nil {
		return nil, refuseBatch(Ref{}, fmt.Sprintf("it is no batch of messages: %v", err))
	}
	return c.batchFrom(t)
}

func (c *Codec) batchTo(b *Batch) (*peer.TBatch, error) {
	t := &peer.TBatch{
		Sender: refTo(b.Sender.Daemon()), Receiver: refTo(b.Receiver.Daemon()), Address: b.Address,
		Incarnation: b.Incarnation, Epoch: bits(b.Epoch), Sequence: bits(b.Sequence),
		Messages: make([]*peer.TMessage, len(b.Items)), Acknowledged: mapped(b.Acknowledged, attemptIDTo), ResultNumbers: b.ResultNumbers, ReceiverIncarnation: b.ReceiverIncarnation,
	}
	now := c.now()
	room := make([]peer.TMessage, len(b.Items))
	for i := range b.Items {
		t.Messages[i] = &room[i]
		if err := c.itemTo(b, &b.Items[i], now, &room[i]); err != nil {
			return nil, refuseItem(b.Sender, i, len(b.Items), err)
		}
	}
	return t, nil
}

func (c *Codec) itemTo(b *Batch, it *Item, now sched.Time, t *peer.TMessage) error {
	if it.From.Daemon() != b.Sender.Daemon() || it.To.Daemon() != b.Receiver.Daemon() {
		return fmt.Errorf("it goes from %v to %v, the batch from %v to %v", it.From, it.To, b.Sender, b.Receiver)
	}
	t.FromSlot, t.ToSlot = it.From.Slot, it.To.Slot
	if err := c.messageTo(&it.Msg, now, t); err != nil {
		return err
	}
	if err := extraTo(&it.Extra, t); err != nil {
		return err
	}
	return checkMessage(t)
}

func (c *Codec) batchFrom(t *peer.TBatch) (*Batch, error) {
	if t == nil {
		return nil, refuseBatch(Ref{}, "it is empty")
	}
	sender, receiver := refFrom(t.Sender), refFrom(t.Receiver)
	if err := errors.Join(checkRef(t.Sender), checkRef(t.Receiver)); err != nil {
		return nil, refuseBatch(sender, err.Error())
	}
	if epoch := unbits(t.Epoch); epoch > sched.MaxEpoch {
		return nil, refuseBatch(sender, epochFault(epoch))
	}
	b := &Batch{
		Sender: sender.Daemon(), Receiver: receiver.Daemon(), Address: t.Address,
		Incarnation: t.Incarnation, Epoch: unbits(t.Epoch), Sequence: unbits(t.Sequence),
		Items: make([]Item, 0, len(t.Messages)), Acknowledged: mapped(t.Acknowledged, attemptIDFrom), ResultNumbers: t.ResultNumbers, ReceiverIncarnation: t.ReceiverIncarnation,
	}
	now := c.now()
	for i, m := range t.Messages {
		if m.Kind > 0 && c.kinds[m.Kind] == sched.KindNone {
			c.unknown(b.Sender, m.Kind) // of a later version: refusing the batch would have it sent again forever
			if !slices.Contains(b.UnknownKinds, m.Kind) {
				b.UnknownKinds = append(b.UnknownKinds, m.Kind)
			}
			continue
		}
		b.Items = append(b.Items, Item{From: b.Sender, To: b.Receiver})
		it := &b.Items[len(b.Items)-1]
		it.From.Slot, it.To.Slot = m.FromSlot, m.ToSlot
		if err := errors.Join(c.messageFrom(m, now, &it.Msg), extraFrom(m, &it.Extra)); err != nil {
			return nil, refuseItem(sender, i, len(t.Messages), err)
		}
	}
	return b, nil
}
