package daemon

import (
	"sync"
	"time"
)

// repeatsLogged is the time between two log lines about one problem of one subject.
const repeatsLogged = time.Minute

// repeatsKept bounds the subjects of [LogPace].
const repeatsKept = 10_000

// LogPace decides which repetitions of a problem are logged: the first, and then at most
// one a minute. The zero value is ready. It belongs to one goroutine.
type LogPace struct {
	bySubject map[string]*repeat
}

type repeat struct {
	problem string
	logged  time.Time
	omitted int
}

// Due reports whether a problem of a subject is to be logged now, and how many times it was
// not since it was logged last.
func (r *LogPace) Due(subject, problem string, now time.Time) (omitted int, due bool) {
	if r.bySubject == nil {
		r.bySubject = map[string]*repeat{}
	}
	known := r.bySubject[subject]
	if known != nil && known.problem == problem && now.Sub(known.logged) < repeatsLogged {
		known.omitted++
		return 0, false
	}
	if known != nil && known.problem == problem {
		omitted = known.omitted
	}
	if len(r.bySubject) >= repeatsKept {
		clear(r.bySubject) // the next problem of each subject is logged once more
	}
	r.bySubject[subject] = &repeat{problem: problem, logged: now}
	return omitted, true
}

// Over is called when a subject has no problem any more.
func (r *LogPace) Over(subject string) { delete(r.bySubject, subject) }

// SharedLogPace is a [LogPace] of one problem that any goroutine may ask. The zero value is ready.
type SharedLogPace struct {
	mu   sync.Mutex
	pace LogPace
}

// Due reports whether the problem of a subject is to be logged now, as [LogPace.Due] does.
func (s *SharedLogPace) Due(subject string) (omitted int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pace.Due(subject, "", time.Now())
}
