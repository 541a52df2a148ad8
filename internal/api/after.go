package api

import (
	"fmt"
	"strings"
)

// MaxAfter bounds the jobs after which one job starts.
const MaxAfter = 100

// After is a job that must have ended before another one starts.
type After struct {
	Job string // its id
	Any bool   // however it has ended; otherwise it must have completed
}

// The words for how a job must have ended.
const (
	afterOK  = "ok"
	afterAny = "any"
)

// ParseAfter reads JOB, JOB:ok or JOB:any.
func ParseAfter(text string) (After, error) {
	a := After{Job: text}
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		switch text[at+1:] {
		case afterOK:
			a.Job = text[:at]
		case afterAny:
			a.Job, a.Any = text[:at], true
		}
	}
	if a.Job == "" {
		return a, fmt.Errorf("%q names no job; write JOB, JOB:ok (it must have completed) or JOB:any (however it has ended)", text)
	}
	return a, nil
}

// String returns what [ParseAfter] reads.
func (a After) String() string {
	if a.Any {
		return a.Job + ":" + afterAny
	}
	return a.Job + ":" + afterOK
}

// Met reports whether the job may start once the other one has ended in that state.
func (a After) Met(s State) bool { return a.Any && s.Ended() || s == StateCompleted }

// afterFault returns what is wrong with the jobs after which one starts and what to do about it,
// "" when nothing.
func (r *Request) afterFault() (what, next string) {
	if len(r.After) > MaxAfter {
		return fmt.Sprintf("it starts after %d jobs, more than the limit of %d", len(r.After), MaxAfter), "have a job start after some of them, and this one after that"
	}
	seen := map[string]bool{}
	for _, a := range r.After {
		switch {
		case a.Job == "" || len(a.Job) > MaxKeyBytes:
			return fmt.Sprintf("the id of a job after which it starts is empty or longer than %d bytes", MaxKeyBytes), "give the id that pigeon submit printed"
		case a.Job == r.Key:
			return "it is to start after itself", "name another job"
		case seen[a.Job]:
			return fmt.Sprintf("it starts after job %q twice", a.Job), "name each job once"
		}
		seen[a.Job] = true
	}
	return "", ""
}
