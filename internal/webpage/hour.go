package webpage

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// The last hour is kept as this many points, one in pointEvery.
const (
	hourPoints = 120
	pointEvery = 30 * time.Second
)

// point is the cluster at one time.
type point struct {
	Time     float64 `json:"time"`     // Unix seconds
	Queued   int     `json:"queued"`   // tasks
	Busy     int     `json:"busy"`     // slots
	Slots    int     `json:"slots"`    // in all
	Launches float64 `json:"launches"` // a minute, since the point before; below 0: not known
}

// hour is the last hour. The zero value has none of it.
type hour struct {
	points []point          // oldest first
	counts map[int]launched // of each group that has answered
}

// launched is how many tasks a master had launched at some time.
type launched struct {
	at    float64
	epoch uint64
	count uint64
}

// add enters what the groups returned, unless none answered or the last point is too young.
func (h *hour) add(now float64, groups []api.MasterState) bool {
	if n := len(h.points); n > 0 && now-h.points[n-1].Time < pointEvery.Seconds() {
		return false
	}
	p, counts, answered := point{Time: now, Launches: -1}, map[int]launched{}, false
	for i := range groups {
		g := &groups[i]
		before, known := h.counts[g.Group]
		if g.Epoch == 0 { // it did not answer
			if known {
				counts[g.Group] = before
			}
			continue
		}
		answered = true
		p.Queued += g.QueuedShort + g.QueuedLong
		p.Busy += g.BusyGeneral + g.BusyReserved
		p.Slots += g.Workers
		counts[g.Group] = launched{at: now, epoch: g.Epoch, count: g.Launches}
		if !known {
			continue
		}
		if before.epoch != g.Epoch || g.Launches < before.count { // another process, which counts from 0
			before.count = 0
		}
		p.Launches = max(0, p.Launches) + 60*float64(g.Launches-before.count)/(now-before.at)
	}
	if !answered {
		return false
	}
	h.counts = counts
	h.points = append(h.points, p)
	h.points = h.points[max(0, len(h.points)-hourPoints):]
	return true
}

// Watch reads the groups twice a minute while nobody looks, so that who comes sees the last hour. It
// returns when ctx ends.
func (p *Page) Watch(ctx context.Context) {
	ctx = identity.With(ctx, identity.Self())
	for {
		if !p.board.watched() {
			p.board.sample(ctx)
		}
		if !delay.For(ctx, pointEvery) {
			return
		}
	}
}

func (b *board) watched() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.viewers > 0
}

// sample adds a point of the first source that answers.
func (b *board) sample(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	for _, place := range b.places {
		groups, err := place.Nodes(ctx)
		if err != nil {
			continue
		}
		b.mu.Lock()
		b.revision++
		b.remember(unix(time.Now()), groups)
		b.mu.Unlock()
		return
	}
}

// remember adds a point; the caller holds the lock.
func (b *board) remember(now float64, groups []api.MasterState) {
	if b.hour.add(now, groups) {
		b.lastHour.set(b.revision, b.hour.points)
	}
}
