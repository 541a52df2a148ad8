package logs

import (
	"container/list"
	"time"
)

// ended are the entries of attempts that have ended, in all and by user, in the order of their ends.
type ended struct {
	all   list.List // of *entry
	users map[string]*kept
}

// kept is what ended attempts of one user have.
type kept struct {
	list  list.List // of *entry
	bytes int64     // of the measured ones
}

// add adds an entry that has ended now, or later than all others.
func (s *ended) add(e *entry) {
	if s.users == nil {
		s.users = map[string]*kept{}
	}
	u := s.users[e.user]
	if u == nil {
		u = &kept{}
		s.users[e.user] = u
	}
	e.place, e.placeOfUser = s.all.PushBack(e), u.list.PushBack(e)
	u.bytes += max(e.bytes, 0)
}

// remove removes an entry that was added.
func (s *ended) remove(e *entry) {
	u := s.users[e.user]
	s.all.Remove(e.place)
	u.list.Remove(e.placeOfUser)
	u.bytes -= max(e.bytes, 0)
	if u.list.Len() == 0 {
		delete(s.users, e.user)
	}
}

// measured records how many bytes an entry has.
func (s *ended) measured(e *entry, bytes int64) {
	s.users[e.user].bytes += bytes - max(e.bytes, 0)
	e.bytes = bytes
}

// bytes returns how many bytes all have.
func (s *ended) bytes() (n int64) {
	for _, u := range s.users {
		n += u.bytes
	}
	return n
}

// expired returns the next entry after e (nil: the first) that ended so long ago, nil for none.
func (s *ended) expired(after *entry, now time.Time, retention time.Duration) *entry {
	next := s.all.Front()
	if after != nil {
		next = after.place.Next()
	}
	if next == nil {
		return nil
	}
	if e := entryOf(next); now.Sub(e.at) >= retention {
		return e
	}
	return nil
}

// oldestOfMost returns the oldest entry of the user who has most, by bytes or else by number: somebody's many or
// large outputs make room for each other, and not for those of others. Whoever follows an output still reads it
// when it ends, so the newest of all stays, however large it is. nil: that user has no other one.
func (s *ended) oldestOfMost(byBytes bool) *entry {
	var most *kept
	amount := func(u *kept) int64 {
		if byBytes {
			return u.bytes
		}
		return int64(u.list.Len())
	}
	for _, u := range s.users {
		if more := most == nil || amount(u) > amount(most); more || amount(u) == amount(most) && u.oldest().at.Before(most.oldest().at) {
			most = u
		}
	}
	if most == nil {
		return nil
	}
	for p := most.list.Front(); p != nil; p = p.Next() {
		if e := entryOf(p); !e.lent && e.place != s.all.Back() {
			return e
		}
	}
	return nil
}

func (u *kept) oldest() *entry { return entryOf(u.list.Front()) }

func entryOf(p *list.Element) *entry {
	e, _ := p.Value.(*entry)
	return e
}
