package link

import (
	"container/list"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// SetOptions are the settings of a [Set].
type SetOptions struct {
	Self        wire.Ref // this daemon
	Address     string   // where it serves other daemons
	Incarnation int64    // of this process
	Codec       *wire.Codec
	Log         *slog.Logger
	// Epoch, if set, returns the epoch of each batch; only masters set it.
	Epoch func() uint64
	// Permitted, if set, is called before each attempt to deliver a batch; when it
	// returns false, what the link has queued is dropped instead.
	Permitted func() bool
	// LostAfter is how long a peer is out of reach before it is lost. Default 2 s.
	LostAfter time.Duration
	// Probe is the silence after which an open link is tried. Default 500 ms,
	// negative: never.
	Probe time.Duration
	// MaxOpen is how many links keep their connection; beyond it the one that was
	// not used for longest closes its own until it is used again. For daemons that
	// send to many peers, to each seldom, and do not probe. 0: all.
	MaxOpen int
	// Security, if set, returns how a peer is called.
	Security func(peer wire.Ref) client.Security
	// Closed, if set, returns why no peer may be called now, nil when they may.
	Closed func() error
	// OnState, if set, is called when the state of a link changes, and OnRefused
	// when a peer refuses messages for good; both from the link's goroutine.
	OnState   func(peer wire.Ref, s State)
	OnRefused func(peer wire.Ref, messages int, why error)
	// OnAnother, if set, is called, from the link's goroutine, when another process than the
	// one of the incarnation answers at the peer's address.
	OnAnother func(peer wire.Ref, incarnation int64)
	// OnUnknown, if set, is called, from the link's goroutine, with messages of kinds that the
	// peer's version does not know; it may keep them.
	OnUnknown func(peer wire.Ref, items []wire.Item)
}

// Set is the links of one daemon.
type Set struct {
	opts  SetOptions
	links map[wire.Ref]*peerLink
	last  uint64      // highest sequence number of the links that were closed
	dirty []*peerLink // with items to send at the next Flush
	used  *list.List  // links that keep their connection, the last used first; empty without MaxOpen
	// free are emptied lists of items, so that a batch costs no allocation here: one for
	// each link that had items at one Flush, at most maxFree.
	free [][]wire.Item
}

// An item has about 600 bytes, so that the lists for reuse have 10 MB at most.
const (
	maxFree      = 64
	maxFreeItems = 256
)

// peerLink is the link to one peer; the link itself is nil until something was sent there.
type peerLink struct {
	peer        wire.Ref
	address     string
	incarnation int64
	removed     bool      // until it is added again
	since       time.Time // when it was removed
	link        *Link
	pool        *client.Pool
	pending     []wire.Item
	place       *list.Element // of used, nil for a link without a connection
}

// NewSet returns an empty set.
func NewSet(o SetOptions) *Set {
	if o.OnState == nil {
		o.OnState = func(wire.Ref, State) {}
	}
	if o.OnRefused == nil {
		o.OnRefused = func(wire.Ref, int, error) {}
	}
	if o.OnUnknown == nil {
		o.OnUnknown = func(wire.Ref, []wire.Item) {}
	}
	if o.Security == nil {
		o.Security = func(wire.Ref) client.Security { return client.Security{} }
	}
	if o.OnAnother == nil {
		o.OnAnother = func(wire.Ref, int64) {}
	}
	return &Set{opts: o, links: map[wire.Ref]*peerLink{}, used: list.New()}
}

// Add enters where a peer is, by its daemon's name. Another incarnation, or a peer
// that was removed, starts with nothing queued.
func (s *Set) Add(peer wire.Ref, address string, incarnation int64) {
	peer = peer.Daemon()
	w := s.links[peer]
	switch {
	case w == nil || w.address != address:
		s.close(w)
		s.links[peer] = &peerLink{peer: peer, address: address, incarnation: incarnation}
	case w.removed || w.incarnation != incarnation:
		w.removed, w.incarnation = false, incarnation
		w.discard()
	}
}

// Reset drops what is queued for a peer or in transit to it; the link starts again,
// as after another Add.
func (s *Set) Reset(peer wire.Ref) {
	if w := s.links[peer.Daemon()]; w != nil {
		w.discard()
	}
}

// Remove drops what is queued for a peer that is lost; from now on Queue accepts nothing
// for it.
func (s *Set) Remove(peer wire.Ref) {
	if w := s.links[peer.Daemon()]; w != nil {
		w.removed, w.since = true, time.Now()
		w.discard()
	}
}

// ForgetAfter is how long a daemon keeps its link to a peer that was removed.
const ForgetAfter = 10 * time.Minute

// Forget closes the links to the peers that have been removed for that long, and forgets them; it
// returns them, in no order. The link to such a peer that returns numbers its batches above those of
// the closed ones, since the peer, if it still is the same process, drops batches that look like
// repetitions.
func (s *Set) Forget(after time.Duration, now time.Time) (forgotten []wire.Ref) {
	for peer, w := range s.links {
		if w.removed && now.Sub(w.since) >= after {
			s.close(w)
			delete(s.links, peer)
			forgotten = append(forgotten, peer)
		}
	}
	return forgotten
}

// Len counts the peers, including those that were removed and are not forgotten.
func (s *Set) Len() int { return len(s.links) }

// Up reports whether messages reach the peer, as far as is known.
func (s *Set) Up(peer wire.Ref) bool {
	w := s.links[peer.Daemon()]
	return w != nil && !w.removed && (w.link == nil || w.link.Stats().Status == Up)
}

// Queue queues an item for the next Flush; false when its receiver is not in the set.
func (s *Set) Queue(it *wire.Item) bool {
	w := s.links[it.To.Daemon()]
	if w == nil || w.removed {
		return false
	}
	if len(w.pending) == 0 {
		s.dirty = append(s.dirty, w)
		if n := len(s.free); n > 0 && w.pending == nil {
			w.pending, s.free = s.free[n-1], s.free[:n-1]
		}
	}
	w.pending = append(w.pending, *it)
	return true
}

// Flush hands what was queued to the links, one batch for each peer. A link whose peer
// is another process by now drops its batch: the new process is added soon.
func (s *Set) Flush() {
	for _, w := range s.dirty {
		items := w.pending
		w.pending = nil
		if len(items) == 0 {
			continue // discarded since
		}
		err := s.open(w)
		if err == nil {
			s.use(w)
			err = w.link.Send(items...)
		}
		if err != nil && !errors.Is(err, ErrStale) && !errors.Is(err, ErrClosed) {
			s.opts.Log.Error("the link to a peer accepts no messages", "peer", w.peer.String(), "messages", len(items), "error", err)
			s.opts.OnRefused(w.peer, len(items), err)
		}
		s.recycle(items) // the link has copied them
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
}

// Discard drops what was queued for all peers or is in transit to them.
func (s *Set) Discard() {
	for _, w := range s.links { // they do not depend on each other
		w.discard()
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
}

// Open opens the link to a peer before anything is sent, so that OnState reports
// whether it can be reached.
func (s *Set) Open(peer wire.Ref) error {
	w := s.links[peer.Daemon()]
	if w == nil {
		return fmt.Errorf("%v is not known", peer)
	}
	return s.open(w)
}

func (s *Set) open(w *peerLink) error {
	if w.link != nil {
		return nil
	}
	pool, err := client.New(client.Options{Name: w.peer.String(), Address: w.address, MaxConns: 2, Closed: s.opts.Closed, Security: s.opts.Security(w.peer)})
	if err != nil {
		return fmt.Errorf("%s has the address %q, which cannot be called: %w", w.peer, w.address, err)
	}
	o, peer := &s.opts, w.peer
	l, err := New(wire.NewPeerClient(pool, o.Codec), Options{
		Self: o.Self, Peer: peer, Sequence: s.last, Address: o.Address, Incarnation: o.Incarnation, Epoch: o.Epoch, Permitted: o.Permitted, LostAfter: o.LostAfter, Probe: o.Probe,
		OnState: func(s State) { o.OnState(peer, s) },
		OnReincarnation: func(before, now int64) {
			o.Log.Info("a peer was restarted", "peer", peer.String(), "incarnation", now)
			o.OnAnother(peer, before)
		},
		OnRefused: func(n int, why error) { o.OnRefused(peer, n, why) },
		OnUnknown: func(items []wire.Item) { o.OnUnknown(peer, items) },
	})
	if err != nil {
		return errors.Join(err, pool.Close())
	}
	l.Reset(w.incarnation)
	w.link, w.pool = l, pool
	return nil
}

// use records that a link is about to be used, and closes the connections of others for it.
func (s *Set) use(w *peerLink) {
	switch {
	case s.opts.MaxOpen == 0:
		return
	case w.place == nil:
		w.place = s.used.PushFront(w)
	default:
		s.used.MoveToFront(w.place)
	}
	for s.used.Len() > s.opts.MaxOpen {
		s.disconnect(s.used.Back().Value.(*peerLink)) //nolint:forcetypeassert // nothing else is in it
	}
}

// disconnect closes a link's connection until it is used again; a call in progress is
// not disturbed.
func (s *Set) disconnect(w *peerLink) {
	if w.place == nil {
		return
	}
	s.used.Remove(w.place)
	w.place = nil
	w.pool.Rest()
}

// recycle keeps an emptied list for the next batches.
func (s *Set) recycle(items []wire.Item) {
	if len(s.free) < maxFree && cap(items) <= maxFreeItems {
		clear(items)
		s.free = append(s.free, items[:0])
	}
}

// discard drops what was not sent to the peer yet.
func (w *peerLink) discard() {
	w.pending = nil
	if w.link != nil {
		w.link.Reset(w.incarnation)
	}
}

func (s *Set) close(w *peerLink) {
	if w == nil {
		return
	}
	w.pending = nil
	s.disconnect(w)
	err := w.shut()
	if w.link != nil {
		s.last = max(s.last, w.link.Sequence())
	}
	if err != nil {
		s.opts.Log.Warn("closing the link to a peer", "peer", w.peer.String(), "error", err)
	}
}

// shut closes the link; it returns when its goroutine has ended.
func (w *peerLink) shut() error {
	if w.link == nil {
		return nil
	}
	return errors.Join(w.link.Close(), w.pool.Close())
}

// Close closes all links and returns when their goroutines have ended. It is safe
// twice; nothing is taken afterwards.
func (s *Set) Close() (err error) {
	for _, w := range s.links {
		w.removed = true
		err = errors.Join(err, w.shut())
	}
	return err
}
