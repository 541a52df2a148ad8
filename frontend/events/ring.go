package events

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Options of a Ring.
type Options struct {
	Frontend string                        // its name
	Limit    int                           // events kept at most
	Bytes    int64                         // of memory that they take, at most
	Readers  int                           // calls that may wait at a time
	Counts   map[string]prometheus.Counter // of the events, by type; of a type without one nothing is counted
	Now      func() time.Time              // time.Now unless set
}

// Ring keeps the newest events. It may be used from anywhere. Make one with New.
type Ring struct {
	opts  Options
	epoch uint64

	mu      sync.Mutex
	list    []*api.Event   // by index, modulo its length; events do not change
	first   uint64         // index of the oldest that is kept, of the next one while there is none
	next    uint64         // index
	bytes   int64          // of those that are kept
	waiting int            // readers
	users   map[string]int // of them, by user; none is 0
	changed chan struct{}  // closed with the next event; nil while no reader waits for it
}

// New returns an empty ring, whose epoch is the present instant.
func New(o Options) *Ring {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Ring{opts: o, users: map[string]int{}, epoch: uint64(max(o.Now().UnixMicro(), 1)), first: 1, next: 1} //nolint:gosec // above zero
}

// fixedBytes is about what an event takes without its texts.
const fixedBytes = 320

// maxMessage bounds the message of an event, in bytes. The other texts are codes and names, which
// are bounded where they are accepted.
const maxMessage = 1000

func sizeOf(e *api.Event) int64 {
	return int64(fixedBytes + len(e.Message) + len(e.Reason) + len(e.Job) + len(e.Node) + len(e.Owner) + len(e.Submitter))
}

// Publish keeps an event, which it numbers and dates.
func (r *Ring) Publish(e api.Event) {
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") // the cut may be within a character
	}
	e.Epoch, e.Frontend = r.epoch, r.opts.Frontend
	if n := r.opts.Counts[e.Type]; n != nil {
		n.Inc()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Index, e.Time = r.next, api.EventTime(r.opts.Now())
	r.bytes += sizeOf(&e)
	for r.first < r.next && (int(r.next-r.first) >= r.opts.Limit || r.bytes > r.opts.Bytes) { //nolint:gosec // at most Limit
		r.forget()
	}
	r.grow()
	*r.at(r.next) = &e
	r.next++
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// at returns the place of an event.
func (r *Ring) at(index uint64) **api.Event { return &r.list[index%uint64(len(r.list))] }

// forget forgets the oldest event.
func (r *Ring) forget() {
	oldest := r.at(r.first)
	r.bytes -= sizeOf(*oldest)
	*oldest = nil
	r.first++
}

// grow makes room for one more event, up to the limit.
func (r *Ring) grow() {
	kept := int(r.next - r.first) //nolint:gosec // at most Limit
	if kept < len(r.list) {
		return
	}
	old := Ring{list: r.list}
	r.list = make([]*api.Event, min(max(64, 2*kept), r.opts.Limit))
	for i := r.first; i < r.next; i++ {
		*r.at(i) = *old.at(i)
	}
}
