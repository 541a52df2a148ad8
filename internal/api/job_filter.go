package api

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// JobFilter selects jobs of a list: those that match every field that is set.
type JobFilter struct {
	States []string      // any of these
	Owner  string        // it and the owners below it
	User   string        // who submitted them, or where that is not proven the last part of the owner
	Name   string        // what the work is; * stands for any text without a slash
	Class  string        // short or long
	Prefix string        // of their ids
	Since  time.Duration // submitted at most that long ago; 0: at any time
}

// States lists the states that a job may have, in their order.
func States() []State {
	return []State{StateHeld, StateQueued, StateRunning, StateCompleted, StateFailed, StateCancelled}
}

// Validate returns an error that names the field that matches nothing.
func (f *JobFilter) Validate() error {
	for _, s := range f.States {
		if !slices.Contains(States(), State(s)) {
			return f.bad(fmt.Sprintf("state %q is none that a job has", clipped(s)), fmt.Sprintf("use some of %v", States()))
		}
	}
	if f.Class != "" && f.Class != "short" && f.Class != "long" {
		return f.bad(fmt.Sprintf("class %q is neither short nor long", clipped(f.Class)), "use short, long, or leave it out")
	}
	if f.Since < 0 {
		return f.bad(fmt.Sprintf("since %v is negative", f.Since), "give a duration such as 1h")
	}
	if _, err := path.Match(f.Name, ""); err != nil {
		return f.bad(fmt.Sprintf("name %q is no pattern", clipped(f.Name)), "use * for any text, and \\ before a [ that stands for itself")
	}
	for _, text := range []string{f.Owner, f.User, f.Name, f.Prefix} {
		if len(text) > MaxKeyBytes {
			return f.bad(fmt.Sprintf("%q is longer than %d bytes", clipped(text), MaxKeyBytes), "use a shorter one")
		}
	}
	return CheckOwner(f.Owner)
}

func (f *JobFilter) bad(what, next string) error {
	return &Error{Problem: Invalid, What: what, Subject: "the filter of a list of jobs", Tried: "reading it", Next: next}
}

// Matches reports whether a job is selected.
func (f *JobFilter) Matches(s *Status, now time.Time) bool {
	return f.MayMatch(s, now) && f.HasState(s.State)
}

// HasState reports whether the state of a job is one of the states.
func (f *JobFilter) HasState(s State) bool {
	return len(f.States) == 0 || slices.Contains(f.States, string(s))
}

// Unfinished reports whether one of the states is that of an unfinished job.
func (f *JobFilter) Unfinished() bool {
	return slices.ContainsFunc(f.States, func(state string) bool { return !State(state).Ended() })
}

// MayMatch is Matches for a job when it is not known yet whether it waits or runs.
func (f *JobFilter) MayMatch(s *Status, now time.Time) bool {
	switch {
	case !strings.HasPrefix(s.Job, f.Prefix), f.Class != "" && s.Class != f.Class, !IsBelow(s.Owner, f.Owner), f.User != "" && userOf(s) != f.User:
		return false
	case f.Since > 0 && now.Sub(time.UnixMicro(int64(s.Submitted*1e6))) > f.Since:
		return false
	case f.Name != "":
		if ok, err := path.Match(f.Name, s.Name); err != nil || !ok {
			return false
		}
	}
	return len(f.States) == 0 || slices.ContainsFunc(f.States, func(state string) bool {
		return State(state) == s.State || !State(state).Ended() && !s.State.Ended()
	})
}

// userOf returns the user who submitted a job, as far as that is known.
func userOf(s *Status) string {
	if s.Submitter != "" {
		return s.Submitter
	}
	return s.Owner[strings.LastIndexByte(s.Owner, '/')+1:]
}
