package events

import (
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

const (
	// refusalsEvery is the least time between two events about refusals for one reason and submitter.
	refusalsEvery = 10 * time.Second
	// refusalsMost bounds the reasons and submitters that are distinguished.
	refusalsMost = 1024
)

// Refusals publishes refused submissions: the first of a submitter for a reason at once, and those
// of the time after that as one event, with the first that comes when the time is over. It may be
// used from anywhere.
type Refusals struct {
	ring *Ring

	mu   sync.Mutex
	list map[refusal]*refused
}

// refusal is what refusals that are counted together have in common.
type refusal struct{ reason, owner, submitter string }

// refused is how often a submission was refused.
type refused struct {
	told  time.Time // the last event
	since int64     // refusals since then
}

// NewRefusals returns a Refusals that publishes to a ring.
func NewRefusals(r *Ring) *Refusals { return &Refusals{ring: r, list: map[refusal]*refused{}} }

// Add counts a refusal, and publishes it when one is due.
func (s *Refusals) Add(reason, owner, submitter string) {
	n, due := s.count(refusal{reason, owner, submitter}, s.ring.opts.Now())
	if !due {
		return
	}
	e := api.Event{Type: api.EventSubmissionRefused, Severity: api.SeverityWarning, Reason: reason, Owner: owner, Submitter: submitter}
	whose := "somebody"
	if submitter != "" {
		whose = submitter
	}
	e.Message = fmt.Sprintf("a job of %s was refused: %s", whose, reason)
	if n > 1 {
		e.Count = n
		e.Message = fmt.Sprintf("%d jobs of %s were refused since the last event about it: %s", n, whose, reason)
	}
	s.ring.Publish(e)
}

func (s *Refusals) count(key refusal, now time.Time) (n int64, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.list[key]
	if r == nil {
		if len(s.list) >= refusalsMost {
			clear(s.list) // each is published once more
		}
		r = &refused{}
		s.list[key] = r
	}
	r.since++
	if now.Sub(r.told) < refusalsEvery {
		return 0, false
	}
	n, r.since, r.told = r.since, 0, now
	return n, true
}
