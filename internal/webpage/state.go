package webpage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// State is the cluster at one time.
type State struct {
	Time   float64           `json:"time"` // Unix seconds of this machine's clock
	Groups []api.MasterState `json:"groups"`
	Jobs   []api.Status      `json:"jobs"` // newest first
}

// Bounds of a state, and of how often sources are read for one.
const (
	maxJobs = 50
	keptFor = 250 * time.Millisecond
)

// reader reads states from the sources. All fields below mu are guarded by it.
type reader struct {
	places []Place

	mu    sync.Mutex
	at    time.Time // of the last answer
	state State
	err   error
}

// read returns a state not older than keptFor; only one caller reads the sources at a time.
func (r *reader) read(ctx context.Context) (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) > keptFor {
		r.state, r.err = ask(identity.With(context.WithoutCancel(ctx), identity.Self()), r.places) // others read it too
		r.at = time.Now()
	}
	return r.state, r.err
}

// ask puts the answers of all sources together. The groups are those of the
// first that answers; each has its own jobs.
func ask(ctx context.Context, places []Place) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	s := State{Time: float64(time.Now().UnixMicro()) / 1e6, Groups: []api.MasterState{}, Jobs: []api.Status{}}
	var problems []error
	for _, source := range places {
		if len(s.Groups) == 0 {
			groups, err := source.Nodes(ctx)
			problems = append(problems, err)
			s.Groups = append(s.Groups, groups...)
		}
		jobs, err := source.List(ctx, maxJobs, "")
		problems = append(problems, err)
		s.Jobs = append(s.Jobs, jobs...)
	}
	slices.SortStableFunc(s.Jobs, func(a, b api.Status) int {
		switch {
		case a.Submitted > b.Submitted:
			return -1
		case a.Submitted < b.Submitted:
			return 1
		}
		return 0
	})
	s.Jobs = s.Jobs[:min(maxJobs, len(s.Jobs))]
	return s, errors.Join(problems...)
}
