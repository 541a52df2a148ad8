package webpage

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Bounds of a stream of events.
const (
	writeWithin = 10 * time.Second // a viewer that takes nothing for so long is disconnected
	streamsFor  = 10 * time.Minute // then it connects again, and is asked who it is
)

// Event is what a viewer is sent. What has not changed since the event before is left out.
type event struct {
	Time     float64           `json:"time"`               // Unix seconds of this daemon's clock
	Reset    bool              `json:"reset,omitempty"`    // what was sent before does not count any more
	Problem  string            `json:"problem,omitempty"`  // why not everything could be read
	You      *viewer           `json:"you,omitempty"`      // in the first event, and when other frontends are shown
	Groups   json.RawMessage   `json:"groups,omitempty"`   // all
	Departed json.RawMessage   `json:"departed,omitempty"` // all
	Hour     json.RawMessage   `json:"hour,omitempty"`     // all points of the last hour
	Nodes    []json.RawMessage `json:"nodes,omitempty"`    // changed ones
	Gone     []string          `json:"gone,omitempty"`     // keys of nodes
	Jobs     []json.RawMessage `json:"jobs,omitempty"`     // changed ones among the newest
	Gap      bool              `json:"gap,omitempty"`      // jobs may be missing

	others bool // other frontends are shown than before
}

// viewer is who looks, and at what.
type viewer struct {
	Name      string   `json:"name"`
	Role      string   `json:"role"`
	Proof     string   `json:"proof"`
	Frontends []string `json:"frontends"` // whose jobs are shown
	// Pages has the other frontends, each with the address of the page that explains its jobs.
	Pages      map[string]string `json:"pages,omitempty"`
	MaxViewers int               `json:"max_viewers"`
	Newest     int               `json:"newest"` // jobs of each frontend that the stream follows
}

// since returns what a viewer is sent that was sent everything up to a revision, 0 for nothing,
// the revision up to which it is, and what is closed when there is more.
func (b *board) since(revision int64, p identity.Principal) (e event, at int64, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ready {
		return event{}, 0, b.changed
	}
	if revision < b.nodes.forgotten {
		revision = 0
	}
	e = event{Time: b.time, Reset: revision == 0, Problem: b.problem, Gap: revision > 0 && b.gap > revision, others: b.pagesAt > revision}
	if b.groups.revision > revision {
		e.Groups = b.groups.text
	}
	if b.departed.revision > revision {
		e.Departed = b.departed.text
	}
	if b.lastHour.revision > revision {
		e.Hour = b.lastHour.text
	}
	e.Nodes, e.Gone = b.nodes.since(revision, textOf)
	e.Jobs, _ = b.jobs.since(revision, func(r *row[job]) json.RawMessage { return shownJob(p, r) })
	return e, b.revision, b.changed
}

// shownJob returns a job as a viewer may see it.
func shownJob(p identity.Principal, r *row[job]) json.RawMessage {
	if s := access.Shown(p, r.value.Status); s != r.value.Status { // whatever it hides
		return encode(jobRow{Key: r.value.key(), job: job{Status: s, Frontend: r.value.Frontend}})
	}
	return r.text
}

func textOf[T any](r *row[T]) json.RawMessage { return r.text }

// events streams the state to a viewer.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	who := identity.From(r.Context())
	err := access.About(access.Allow(who, access.SeeCluster), "the page of this cluster", "sending its state")
	if err != nil {
		refuse(w, err)
		return
	}
	leave, full := p.viewers.Take(r)
	if full != "" {
		refuse(w, errFull(full))
		return
	}
	defer leave()
	if err := p.board.enter(); err != nil {
		refuse(w, err)
		return
	}
	defer p.board.leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	if out.SetReadDeadline(time.Time{}) != nil { // of the server, which is for requests
		return
	}
	end := time.NewTimer(streamsFor)
	defer end.Stop()
	first, revision, changed := p.board.since(0, who)
	for {
		if revision > 0 { // something has been read
			if first.Reset || first.others {
				first.You = p.viewer(who)
			}
			if send(w, out, first) != nil {
				return
			}
		}
		select {
		case <-changed:
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
		if p.board.isClosed() {
			return
		}
		first, revision, changed = p.board.since(revision, who)
	}
}

func (b *board) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

func send(w http.ResponseWriter, out *http.ResponseController, e event) error {
	if err := out.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(append([]byte("data: "), text...), "\n\n"...)); err != nil {
		return err
	}
	return out.Flush()
}

func (p *Page) viewer(who identity.Principal) *viewer {
	v := &viewer{Name: who.Name, Role: string(who.Role), Proof: string(who.Proof), MaxViewers: MaxViewers, Newest: newest, Frontends: []string{}}
	for _, place := range p.board.places {
		v.Frontends = append(v.Frontends, place.Name)
	}
	p.board.mu.Lock()
	defer p.board.mu.Unlock()
	v.Pages = p.board.pages // replaced, never changed
	v.Frontends = append(v.Frontends, slices.Sorted(maps.Keys(v.Pages))...)
	return v
}
