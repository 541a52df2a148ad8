package grants

// Stats count since the start, except Held and Waiting.
type Stats struct {
	Granted  uint64 `json:"granted"` // reached an executor
	Used     uint64 `json:"used"`
	Declined uint64 `json:"declined"`
	Unfit    uint64 `json:"unfit"`
	Lost     uint64 `json:"lost"`     // were not fetched
	Failed   uint64 `json:"failed"`   // their executor ended
	Leased   uint64 `json:"leased"`   // answered with a lease
	Recalled uint64 `json:"recalled"` // lost their lease because others wait
	Held     int    `json:"held"`
	Waiting  int    `json:"waiting"`
}

// Stats returns the counts so far.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.assignments.stats
	for _, a := range t.assignments.apps {
		s.Waiting += len(a.waiting)
	}
	s.Held = len(t.assignments.grants) - s.Waiting
	return s
}

// Attached reports whether the executor receives grants, and how many it holds.
func (t *Table) Attached(app, executorID string) (attached bool, held int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.assignments.apps[app]
	if a == nil || a.executors[executorID] == nil {
		return false, 0
	}
	x := a.executors[executorID]
	return x.order > 0, len(x.held)
}
