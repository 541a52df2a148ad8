package mesh

import (
	"container/list"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Options of a [Mesh].
type Options struct {
	Self        wire.Ref // this daemon
	Address     string   // where it serves other daemons
	Incarnation int64    // of this process
	Codec       *wire.Codec
	Log         *slog.Logger
	// Epoch, if given, goes along with each batch; masters have one.
	Epoch func() uint64
	// LostAfter is how long a peer is out of reach before it is lost. Default 2 s.
	LostAfter time.Duration
	// Probe has an open way tried when it was silent for so long. Default 500 ms,
	// negative: never.
	Probe time.Duration
	// MaxOpen is how many ways keep their connection; beyond it the one that was
	// not used for longest closes its own until it is used again. For daemons that
	// speak to many peers, to each seldom, and do not probe. 0: all.
	MaxOpen int
	// OnState and OnRefused, if given, learn how a way is and of messages that a
	// peer will never take, from the link's goroutine.
	OnState   func(peer wire.Ref, s link.State)
	OnRefused func(peer wire.Ref, messages int, why error)
}

// Mesh is the ways of one daemon.
type Mesh struct {
	opts  Options
	ways  map[wire.Ref]*way
	dirty []*way     // with items to send at the next Flush
	used  *list.List // ways that keep their connection, the last used first; empty without MaxOpen
}

// way is the way to one peer. Its link is nil until something was sent there.
type way struct {
	peer        wire.Ref
	address     string
	incarnation int64
	gone        bool // forgotten, until it is met again
	link        *link.Link
	pool        *client.Pool
	pending     []wire.Item
	place       *list.Element // of used, nil for a way without a connection
}

// New returns a mesh without ways.
func New(o Options) *Mesh {
	if o.OnState == nil {
		o.OnState = func(wire.Ref, link.State) {}
	}
	if o.OnRefused == nil {
		o.OnRefused = func(wire.Ref, int, error) {}
	}
	return &Mesh{opts: o, ways: map[wire.Ref]*way{}, used: list.New()}
}

// Meet notes where a peer is, by its daemon's name. Another incarnation, or a peer
// that was forgotten, starts with nothing queued.
func (m *Mesh) Meet(peer wire.Ref, address string, incarnation int64) {
	peer = peer.Daemon()
	w := m.ways[peer]
	switch {
	case w == nil || w.address != address:
		m.close(w)
		m.ways[peer] = &way{peer: peer, address: address, incarnation: incarnation}
	case w.gone || w.incarnation != incarnation:
		w.gone, w.incarnation = false, incarnation
		w.discard()
	}
}

// Incarnation returns the process that the peer was last met as; false for a peer
// that is not known, or was forgotten.
func (m *Mesh) Incarnation(peer wire.Ref) (int64, bool) {
	w := m.ways[peer.Daemon()]
	if w == nil || w.gone {
		return 0, false
	}
	return w.incarnation, true
}

// Renew drops what is queued for a peer and on its way, which is then sent from
// anew, as after another Meet.
func (m *Mesh) Renew(peer wire.Ref) {
	if w := m.ways[peer.Daemon()]; w != nil {
		w.discard()
	}
}

// Forget drops what is queued for a peer that is lost; what is said to it from now
// on is not taken.
func (m *Mesh) Forget(peer wire.Ref) {
	if w := m.ways[peer.Daemon()]; w != nil {
		w.gone = true
		w.discard()
	}
}

// Up reports whether messages reach the peer, as far as is known.
func (m *Mesh) Up(peer wire.Ref) bool {
	w := m.ways[peer.Daemon()]
	return w != nil && !w.gone && (w.link == nil || w.link.Stats().Status == link.Up)
}

// Queue has an item sent by the next Flush; false when its receiver is not known.
func (m *Mesh) Queue(it *wire.Item) bool {
	w := m.ways[it.To.Daemon()]
	if w == nil || w.gone {
		return false
	}
	if len(w.pending) == 0 {
		m.dirty = append(m.dirty, w)
	}
	w.pending = append(w.pending, *it)
	return true
}

// Flush hands what was queued to the links, one batch for each peer. A link that
// takes nothing because its peer is another process by now drops it: that one is
// met soon.
func (m *Mesh) Flush() {
	for _, w := range m.dirty {
		items := w.pending
		w.pending = nil
		if len(items) == 0 {
			continue // discarded since
		}
		err := m.open(w)
		if err == nil {
			m.use(w)
			err = w.link.Send(items...)
		}
		if err != nil && !errors.Is(err, link.ErrStale) && !errors.Is(err, link.ErrClosed) {
			m.opts.Log.Error("messages were not taken by the way to a peer", "peer", w.peer.String(), "messages", len(items), "error", err)
			m.opts.OnRefused(w.peer, len(items), err)
		}
	}
	clear(m.dirty)
	m.dirty = m.dirty[:0]
}

// Open opens the way to a peer before anything is sent, so that OnState tells
// whether it can be reached.
func (m *Mesh) Open(peer wire.Ref) error {
	w := m.ways[peer.Daemon()]
	if w == nil {
		return fmt.Errorf("%v is not known", peer)
	}
	return m.open(w)
}

func (m *Mesh) open(w *way) error {
	if w.link != nil {
		return nil
	}
	pool, err := client.New(client.Options{Name: w.peer.String(), Address: w.address, MaxConns: 2})
	if err != nil {
		return fmt.Errorf("%s gave the address %q, which cannot be called back: %w", w.peer, w.address, err)
	}
	o, peer := &m.opts, w.peer
	l, err := link.New(wire.NewPeerClient(pool, o.Codec), link.Options{
		Self: o.Self, Peer: peer, Address: o.Address, Incarnation: o.Incarnation, Epoch: o.Epoch, LostAfter: o.LostAfter, Probe: o.Probe,
		OnState:         func(s link.State) { o.OnState(peer, s) },
		OnReincarnation: func(_, now int64) { o.Log.Info("a peer was restarted", "peer", peer.String(), "incarnation", now) },
		OnRefused:       func(n int, why error) { o.OnRefused(peer, n, why) },
	})
	if err != nil {
		return errors.Join(err, pool.Close())
	}
	l.Reset(w.incarnation)
	w.link, w.pool = l, pool
	return nil
}

// use notes that a way is about to be used, and has others rest for it.
func (m *Mesh) use(w *way) {
	switch {
	case m.opts.MaxOpen == 0:
		return
	case w.place == nil:
		w.place = m.used.PushFront(w)
	default:
		m.used.MoveToFront(w.place)
	}
	for m.used.Len() > m.opts.MaxOpen {
		m.leave(m.used.Back().Value.(*way)) //nolint:forcetypeassert // nothing else is in it
	}
}

// leave closes a way's connection until it is used again; what is on its way there
// is not disturbed.
func (m *Mesh) leave(w *way) {
	if w.place == nil {
		return
	}
	m.used.Remove(w.place)
	w.place = nil
	w.pool.Rest()
}

// discard drops what the peer was not sent yet.
func (w *way) discard() {
	w.pending = nil
	if w.link != nil {
		w.link.Reset(w.incarnation)
	}
}

func (m *Mesh) close(w *way) {
	if w == nil {
		return
	}
	w.pending = nil
	m.leave(w)
	if err := w.shut(); err != nil {
		m.opts.Log.Warn("closing the way to a peer's former address", "peer", w.peer.String(), "error", err)
	}
}

// shut ends the way; it returns when its goroutine is gone.
func (w *way) shut() error {
	if w.link == nil {
		return nil
	}
	return errors.Join(w.link.Close(), w.pool.Close())
}

// Close ends all ways and returns when their goroutines are gone. It is safe
// twice; nothing is taken afterwards.
func (m *Mesh) Close() (err error) {
	for _, w := range m.ways {
		w.gone = true
		err = errors.Join(err, w.shut())
	}
	return err
}
