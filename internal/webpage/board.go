package webpage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Bounds of what is read, of who looks, and of how often.
const (
	MaxViewers = 64 // at a time
	// Of one user, and from one address that is not loopback: somebody's many windows do not keep others from
	// the page.
	mostOfUser, mostOfAddress = 8, 16

	newest    = 200 // jobs of each source whose changes are followed
	askWithin = 2 * time.Second
	readEvery = time.Second
	mostEvery = 5 * time.Second
	readShare = 200 // a read is followed by a pause of this many times its length, at most mostEvery
)

// board has the state of the cluster while somebody looks, and at which revision each part of
// it changed.
type board struct {
	places []Place
	dial   Dial // of other frontends; nil for none

	mu      sync.Mutex
	viewers int
	stop    context.CancelFunc // of the reader; nil while nobody looks
	readers sync.WaitGroup
	closed  bool
	changed chan struct{} // closed at the next revision, and at the end

	revision int64
	ready    bool    // something has been read since somebody looks
	time     float64 // Unix seconds
	problem  string  // why a source could not be read, "" when all could
	groups   part
	departed part
	lastHour part // of hour
	hour     hour // is kept while nobody looks
	nodes    rows[api.Node]
	jobs     rows[job]
	gap      int64 // the revision in which jobs may have come and gone unseen
	others   *others
	pages    map[string]string // of other frontends, by name: the addresses of their pages
	pagesAt  int64             // the revision in which they changed
}

func newBoard(places []Place) *board {
	return &board{places: places, changed: make(chan struct{})}
}

// errFull is what a viewer beyond a limit is told; full is which one.
func errFull(full string) error {
	return &api.Error{
		Problem: api.Busy, Subject: "the page of this cluster", What: fmt.Sprintf("as many browsers as may be look at it already, %s (webpage.MaxViewers)", full),
		Tried: "sending it to one more", Next: "close one of them, or open the page of another frontend",
	}
}

var errClosing = errors.New("this daemon is stopping")

// enter counts a viewer; the first has the sources read.
func (b *board) enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosing
	}
	if b.viewers++; b.viewers == 1 {
		ctx, stop := context.WithCancel(identity.With(context.Background(), identity.Self()))
		b.stop, b.ready = stop, false // what was read before is old
		b.groups, b.departed, b.nodes, b.jobs = part{}, part{}, rows[api.Node]{}, rows[job]{}
		b.pages = nil
		b.others = newOthers(b.places, b.dial)
		others := b.others
		b.readers.Go(func() { b.read(ctx, others) })
	}
	return nil
}

// leave is the end of a viewer; with the last one reading ends.
func (b *board) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.viewers--; b.viewers == 0 {
		b.stop()
		b.stop = nil
	}
}

// close ends all viewers and waits for the reader.
func (b *board) close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.changed)
		if b.stop != nil {
			b.stop()
		}
	}
	b.mu.Unlock()
	b.readers.Wait()
}

// read reads the sources until nobody looks any more.
func (b *board) read(ctx context.Context, others *others) {
	defer others.end()
	for ctx.Err() == nil {
		began := time.Now()
		s := readPlaces(ctx, b.places)
		if ctx.Err() != nil {
			return
		}
		others.follow(ctx, s.groups)
		s.elsewhere, s.leftOut = others.read()
		b.apply(&s)
		delay.For(ctx, pause(time.Since(began)))
	}
}

// pause returns how long to wait after a read that took some time.
func pause(took time.Duration) time.Duration {
	return min(max(readEvery-took, readShare*took), mostEvery)
}

// apply enters what was read and wakes the viewers.
func (b *board) apply(s *reading) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.revision++
	b.ready = true
	b.time, b.problem = s.time, s.problem()
	if s.groups != nil {
		b.applyGroups(s)
		b.remember(s.time, s.groups)
	}
	for i := range s.places {
		if p := &s.places[i]; p.err == nil {
			b.applyJobs(p)
		}
	}
	b.applyElsewhere(s.elsewhere)
	b.jobs.forget(newest * (1 + len(b.places) + len(s.elsewhere)))
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *board) applyGroups(s *reading) {
	b.groups.set(b.revision, groupRows(s.groups))
	b.departed.set(b.revision, departedRows(s.groups, s.time))
	for i := range s.groups {
		for k := range s.groups[i].Nodes {
			n := &s.groups[i].Nodes[k]
			key := nodeKey(n)
			b.nodes.set(b.revision, key, *n, sameNode, func() any { return nodeRowOf(key, n, s.time) })
		}
	}
	b.nodes.dropUnseen(b.revision)
}

// applyJobs enters the newest jobs of a source. When none of them was known, others may have come
// and gone since the last read.
func (b *board) applyJobs(p *readPlace) {
	known := len(b.jobs.all) == 0 || len(p.jobs) < newest
	for i := range p.jobs {
		j := job{Status: p.jobs[i], Frontend: p.name, elsewhere: p.elsewhere}
		key := j.key()
		known = b.jobs.set(b.revision, key, j, func(a, b *job) bool { return *a == *b }, func() any { return jobRow{Key: key, job: j} }) || known
	}
	if !known {
		b.gap = b.revision
	}
}
