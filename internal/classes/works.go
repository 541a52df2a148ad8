package classes

// works are the works that are known, at most most of them; the least recently used one is
// forgotten for a new one.
type works struct {
	most           int
	byID           map[workID]*work
	oldest, newest *work // by their last use
}

// find returns a work and counts that as a use of it; nil when it is not known.
func (s *works) find(id workID) *work {
	w := s.byID[id]
	if w != nil && w != s.newest {
		s.unlink(w)
		s.link(w)
	}
	return w
}

// make returns a work, which is new and empty when it was not known.
func (s *works) make(id workID) *work {
	if w := s.find(id); w != nil {
		return w
	}
	if len(s.byID) >= s.most {
		s.forget(s.oldest)
	}
	w := &work{id: id}
	s.byID[id] = w
	s.link(w)
	return w
}

func (s *works) forget(w *work) {
	s.unlink(w)
	delete(s.byID, w.id)
	w.gone = true
}

// link adds a work as the newest.
func (s *works) link(w *work) {
	w.older = s.newest
	if w.older != nil {
		w.older.newer = w
	} else {
		s.oldest = w
	}
	s.newest = w
}

func (s *works) unlink(w *work) {
	if w.older != nil {
		w.older.newer = w.newer
	} else {
		s.oldest = w.newer
	}
	if w.newer != nil {
		w.newer.older = w.older
	} else {
		s.newest = w.older
	}
	w.older, w.newer = nil, nil
}
