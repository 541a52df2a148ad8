package link

import (
	"cmp"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Options of a [Link]; a zero field means its default. The functions are called
// by the link's goroutine, one at a time and in order; they may call the link but
// not its Close, and while one runs nothing is sent.
type Options struct {
	// Self and Peer are the daemons' names, Address where Self serves others.
	Self, Peer wire.Ref
	Address    string
	// Incarnation of this process.
	Incarnation int64
	// Sequence is that of the last batch of an earlier link of this process to the peer.
	Sequence uint64
	// Epoch, if set, returns the epoch of each batch; only masters set it.
	Epoch func() uint64
	// Permitted, if set, is called before each attempt to deliver; when it returns false, what
	// is queued is dropped instead.
	Permitted func() bool

	// MaxItems and MaxBytes bound what is queued or in progress. Defaults 2,000,000
	// messages and 512 MiB.
	MaxItems int
	MaxBytes int
	// BatchItems and BatchBytes bound one batch. Defaults 1,000 messages and
	// 512 KiB; a single larger message travels alone, so the peer's server must
	// accept frames of wire.MaxBatchBytes.
	BatchItems int
	BatchBytes int

	// CallTimeout bounds one attempt to deliver. Default 1 s.
	CallTimeout time.Duration
	// RetryMin and RetryMax bound the pause after a failed attempt, which doubles
	// and is shortened by up to half by chance. Defaults 10 ms and 500 ms.
	RetryMin, RetryMax time.Duration
	// LostAfter is how long a peer is down before it is lost. Default 2 s.
	LostAfter time.Duration
	// Probe delivers an empty batch when nothing was sent for this long, so that a
	// peer's end is noticed without traffic. Negative: never. Default 500 ms.
	Probe time.Duration

	// OnState is called at every change of state.
	OnState func(State)
	// OnReincarnation is called when the peer is another process than before.
	OnReincarnation func(before, now int64)
	// OnRefused is called with the number of messages that the peer refused, and the reason.
	OnRefused func(items int, why error)
	// OnUnknown is called with messages of kinds that the peer's version does not know. It has
	// left them out, or they were not sent because it has reported so before. The function may
	// keep them.
	OnUnknown func(items []wire.Item)
}

func (o Options) withDefaults() Options {
	o.MaxItems = cmp.Or(o.MaxItems, 2_000_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 512<<20)
	o.BatchItems = cmp.Or(o.BatchItems, 1000)
	o.BatchBytes = cmp.Or(o.BatchBytes, 512<<10)
	o.CallTimeout = cmp.Or(o.CallTimeout, time.Second)
	o.RetryMin = cmp.Or(o.RetryMin, 10*time.Millisecond)
	o.RetryMax = cmp.Or(o.RetryMax, 500*time.Millisecond)
	o.LostAfter = cmp.Or(o.LostAfter, 2*time.Second)
	o.Probe = cmp.Or(o.Probe, 500*time.Millisecond)
	if o.OnState == nil {
		o.OnState = func(State) {}
	}
	if o.OnReincarnation == nil {
		o.OnReincarnation = func(int64, int64) {}
	}
	if o.OnRefused == nil {
		o.OnRefused = func(int, error) {}
	}
	if o.OnUnknown == nil {
		o.OnUnknown = func([]wire.Item) {}
	}
	return o
}

func (o Options) validate() error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"MaxItems", int64(o.MaxItems)}, {"MaxBytes", int64(o.MaxBytes)},
		{"BatchItems", int64(o.BatchItems)}, {"BatchBytes", int64(o.BatchBytes)},
		{"CallTimeout", int64(o.CallTimeout)}, {"RetryMin", int64(o.RetryMin)},
		{"RetryMax", int64(o.RetryMax - o.RetryMin + 1)}, {"LostAfter", int64(o.LostAfter)},
	} {
		if f.value <= 0 {
			return fmt.Errorf("link: Options.%s is out of range (and RetryMax must not be below RetryMin)", f.name)
		}
	}
	return nil
}
