package events

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

const (
	// gather is how long an answer is held back after the first event that it waited for, so that
	// a busy frontend answers each reader 50 times a second at most.
	gather = 20 * time.Millisecond
	// scanMost bounds the events that are examined while a publisher may have to wait.
	scanMost = 512
	// userPart is the part of Readers that one user may have: who follows the events very often does
	// not keep others from it.
	userPart = 2
)

// Read returns the events that a query selects, in their order, as show presents them to the
// caller; show returns false for those that the caller may not see. When there is none, Read
// waits for one, for as long as the query states. The error is about too many readers that wait, in
// all or of the user; "" is one that is not bounded.
func (r *Ring) Read(ctx context.Context, user string, q *api.EventQuery, show func(*api.Event) (api.Event, bool)) (api.EventPage, error) {
	s := r.scanOf(q, show)
	if s.run(); len(s.page.Events) > 0 || q.Wait <= 0 {
		return s.page, nil
	}
	if err := r.enter(user); err != nil {
		return s.page, err
	}
	defer r.leave(user)
	timer := time.NewTimer(min(q.Wait, api.EventWaitMost))
	defer timer.Stop()
	for len(s.page.Events) == 0 {
		select {
		case <-r.after(s.page.Last):
		case <-timer.C:
			return s.page, nil
		case <-ctx.Done():
			return s.page, nil
		}
		select {
		case <-time.After(gather):
		case <-ctx.Done():
		}
		s.run()
	}
	return s.page, nil
}

// enter counts a reader that waits, or refuses one too many.
func (r *Ring) enter(user string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var what string
	switch most := max(1, r.opts.Readers/userPart); {
	case r.waiting >= r.opts.Readers:
		what = fmt.Sprintf("%d readers wait for events there, the limit (event_readers)", r.waiting)
	case user != "" && r.users[user] >= most:
		what = fmt.Sprintf("%d readers of %s wait for events there, the limit for one user (half of event_readers)", r.users[user], user)
	default:
		r.waiting++
		if user != "" {
			r.users[user]++
		}
		return nil
	}
	return tooManyReaders(r.opts.Frontend, what)
}

func (r *Ring) leave(user string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
	if r.users[user]--; r.users[user] <= 0 {
		delete(r.users, user)
	}
}

// closed is a channel that is closed.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// after returns a channel that is closed as soon as there is an event with a higher index.
func (r *Ring) after(index uint64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next > index+1 {
		return closed
	}
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// scan looks for the events of a query.
type scan struct {
	*Ring
	query *api.EventQuery
	show  func(*api.Event) (api.Event, bool)
	since string // the time of the oldest
	most  int
	count bool // whether missed events are counted
	page  api.EventPage
}

func (r *Ring) scanOf(q *api.EventQuery, show func(*api.Event) (api.Event, bool)) *scan {
	s := &scan{Ring: r, query: q, show: show, most: min(cmp.Or(max(q.Limit, 0), api.EventPageMost), api.EventPageMost)}
	s.page = api.EventPage{Frontend: r.opts.Frontend, Epoch: r.epoch, Last: q.After, Events: []api.Event{}}
	if q.Since > 0 {
		s.since = api.EventTime(r.opts.Now().Add(-q.Since))
	}
	if q.Epoch != 0 && q.Epoch != r.epoch {
		s.page.Last = 0 // of another process
	}
	s.count = q.Epoch == r.epoch || s.page.Last > 0
	return s
}

// run continues the scan up to the newest event, or until the page is full.
func (s *scan) run() {
	for part := s.part(); len(part) > 0; part = s.part() {
		for _, e := range part {
			if len(s.page.Events) == s.most {
				s.page.More = true
				return
			}
			s.page.Last = e.Index
			if e.Time < s.since {
				continue
			}
			if shown, ok := s.show(e); ok && s.query.Matches(&shown) {
				s.page.Events = append(s.page.Events, shown)
			}
		}
	}
}

// part returns the next events, and counts those that it would have returned if they were still
// kept.
func (s *scan) part() []*api.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page.Last = min(s.page.Last, s.next-1)
	from := s.page.Last + 1
	if from < s.first {
		if s.count {
			s.page.Missed += s.first - from
		}
		from = s.first
	}
	s.count = true // an event that is forgotten from now on was there for this reader
	part := make([]*api.Event, 0, min(s.next-from, scanMost))
	for i := from; i < s.next && len(part) < scanMost; i++ {
		part = append(part, *s.at(i))
	}
	return part
}
