package webpage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// Bounds of what is read of other frontends.
const (
	maxOthers     = 64               // frontends whose jobs are shown; others are told of
	mostEveryElse = 30 * time.Second // between two questions to one of them
)

// Other is another frontend of the cluster. The page shows the names and states of its jobs,
// which everybody with a role may see, and nothing else of them.
type Other interface {
	// List returns the newest jobs first, at most limit, after a job unless that is "".
	List(ctx context.Context, limit int, after string) ([]api.Status, error)
	// Page returns the address of its page, "" when it has none or has not answered yet.
	Page() string
	Close()
}

// Dial returns the frontend of a name that serves at an address, and asks it nothing yet.
type Dial func(name, address string) (Other, error)

// others are the other frontends while somebody looks. Each has a goroutine that asks it, so one
// that does not answer delays nothing.
//
//	masters' list ──follow──▶ other ──asks, pauses──▶ its last answer ──read──▶ board
type others struct {
	here []Place // whose jobs are read otherwise
	dial Dial    // nil for none

	mu      sync.Mutex
	byName  map[string]*other
	leftOut int // frontends beyond maxOthers
	asking  sync.WaitGroup
}

// other is one of them, with its last answer.
type other struct {
	Other
	name, address string
	stop          context.CancelFunc

	// Guarded by others.mu.
	answered bool // or has failed to
	at       time.Time
	jobs     []api.Status
	err      error
}

// readOther is the last answer of another frontend.
type readOther struct {
	readPlace
	page string
}

func newOthers(here []Place, dial Dial) *others {
	return &others{here: here, dial: dial, byName: map[string]*other{}}
}

// follow asks the frontends that masters have registered from now on, until ctx ends, and no
// others. Without an answer of a master it changes nothing.
func (o *others) follow(ctx context.Context, groups []api.MasterState) {
	if o.dial == nil || len(groups) == 0 {
		return
	}
	wanted := o.wanted(groups)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leftOut = max(0, len(wanted)-maxOthers)
	wanted = wanted[:min(len(wanted), maxOthers)]
	for name, each := range o.byName {
		if !slices.Contains(wanted, at{name, each.address}) {
			each.stop()
			delete(o.byName, name)
		}
	}
	for _, w := range wanted {
		if o.byName[w.name] != nil {
			continue
		}
		c, err := o.dial(w.name, w.address)
		each := &other{Other: c, name: w.name, address: w.address, stop: func() {}, answered: err != nil, err: err}
		o.byName[w.name] = each
		if err == nil {
			asking, stop := context.WithCancel(ctx)
			each.stop = stop
			o.asking.Go(func() { o.ask(asking, each) })
		}
	}
}

// at is where a frontend serves.
type at struct{ name, address string }

// wanted returns the frontends to ask, by their names.
func (o *others) wanted(groups []api.MasterState) (list []at) {
	for i := range groups {
		for _, f := range groups[i].Frontends {
			here := slices.ContainsFunc(o.here, func(p Place) bool { return p.Name == f.Name })
			if f.Scheduler != "" && !here && (f.State == api.StateUp || f.State == api.StateUnreachable) {
				list = append(list, at{f.Name, f.Scheduler})
			}
		}
	}
	slices.SortFunc(list, func(a, b at) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.address, b.address)) })
	return slices.CompactFunc(list, func(a, b at) bool { return a.name == b.name })
}

// ask asks a frontend for its newest jobs until ctx ends.
func (o *others) ask(ctx context.Context, each *other) {
	defer each.Close()
	for ctx.Err() == nil {
		began := time.Now()
		asking, cancel := context.WithTimeout(ctx, askWithin)
		jobs, err := each.List(asking, newest, "")
		cancel()
		took := time.Since(began)
		if ctx.Err() != nil {
			return
		}
		o.mu.Lock()
		n := len(o.byName)
		each.answered, each.err = true, err
		if err == nil {
			each.jobs, each.at = statesOf(jobs), began
		}
		o.mu.Unlock()
		delay.For(ctx, pauseElsewhere(took, n))
	}
}

// pauseElsewhere returns how long to wait after an answer that took some time, of one of so many
// frontends: asking all of them takes about half a percent of a processor, here and there.
func pauseElsewhere(took time.Duration, frontends int) time.Duration {
	return min(max(readEvery-took, readShare*took*time.Duration(frontends)), mostEveryElse)
}

// read returns the last answer of each frontend that has answered or failed to, by their names;
// the error says that there are more.
func (o *others) read() (list []readOther, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, each := range o.byName {
		if !each.answered {
			continue
		}
		r := readOther{readPlace: readPlace{name: each.name, jobs: each.jobs, elsewhere: true}}
		if each.Other != nil {
			r.page = each.Page()
		}
		if each.err != nil {
			r.err = each.away()
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b readOther) int { return cmp.Compare(a.name, b.name) })
	if o.leftOut > 0 {
		err = fmt.Errorf("the jobs of %d frontends are not shown: the page asks %d others, which is the limit (webpage.maxOthers)", o.leftOut, maxOthers)
	}
	return list, err
}

// away says that a frontend does not answer, and of when what is shown is.
func (each *other) away() error {
	shown := "none of its jobs are shown"
	if !each.at.IsZero() {
		shown = "its jobs are shown as they were at " + each.at.Format(time.TimeOnly)
	}
	return fmt.Errorf("frontend %s does not answer, and %s: %w", each.name, shown, each.err)
}

// list returns a page of the jobs of another frontend; found is false when it is none.
func (o *others) list(ctx context.Context, name string, limit int, after string) (jobs []api.Status, found bool, err error) {
	o.mu.Lock()
	each := o.byName[name]
	o.mu.Unlock()
	if each == nil || each.Other == nil {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	jobs, err = each.List(ctx, limit, after)
	return statesOf(jobs), true, err
}

// page returns the address of the page of another frontend; found is false when it is none.
func (o *others) page(name string) (address string, found bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	each := o.byName[name]
	if each == nil {
		return "", false
	}
	if each.Other != nil {
		address = each.Page()
	}
	return address, true
}

// end returns when no frontend is asked any more; the context of follow has ended.
func (o *others) end() { o.asking.Wait() }

// statesOf returns jobs as everybody with a role may see them, whatever this daemon was told.
func statesOf(jobs []api.Status) []api.Status {
	list := slices.Clone(jobs)
	for i := range list {
		list[i].Reason, list[i].Command = "", ""
	}
	return list
}

// elsewhereError is what is answered to a question that only the frontend of a job may answer.
func elsewhereError(frontend, page, job string) error {
	next := fmt.Sprintf("use `pigeon explain %s`, or open the page of that frontend", job)
	if page != "" {
		next = fmt.Sprintf("open %s, or use `pigeon explain %s`", page, job)
	}
	return &api.Error{Problem: api.NotFound, Subject: "job " + strconv.Quote(job), What: fmt.Sprintf("frontend %q has it, and this page shows the names and states of its jobs only", frontend),
		Tried: "answering a request for it", Next: next}
}

// applyElsewhere enters the jobs of other frontends. When other ones are shown than before,
// viewers are told which, and sent everything when one of them is gone.
func (b *board) applyElsewhere(list []readOther) {
	pages := map[string]string{}
	for i := range list {
		pages[list[i].name] = list[i].page
	}
	if !maps.Equal(pages, b.pages) {
		for name := range b.pages {
			if _, shown := pages[name]; !shown {
				b.nodes.forgotten = b.revision
			}
		}
		maps.DeleteFunc(b.jobs.all, func(_ string, r *row[job]) bool {
			_, shown := pages[r.value.Frontend]
			return r.value.elsewhere && !shown
		})
		b.pages, b.pagesAt = pages, b.revision
	}
	for i := range list {
		if p := &list[i].readPlace; p.err == nil || p.jobs != nil {
			b.applyJobs(p)
		}
	}
}

// elsewhere returns the other frontends, nil while nobody looks.
func (b *board) elsewhere() *others {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop == nil {
		return nil
	}
	return b.others
}
