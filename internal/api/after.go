package api

import (
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"
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

// ParseAfter reads JOB, JOB:ok or JOB:any. Before a condition, every text is the id of a job.
func ParseAfter(text string) (After, error) {
	a := After{Job: text}
	at := strings.LastIndexByte(text, ':')
	switch {
	case at < 0:
	case text[at+1:] == afterOK:
		a.Job = text[:at]
	case text[at+1:] == afterAny:
		a.Job, a.Any = text[:at], true
	default:
		return a, conditionFault(text[:at], text[at+1:])
	}
	if a.Job == "" {
		return a, fmt.Errorf("%q names no job; write JOB, %s", text, conditions)
	}
	return a, nil
}

// conditions are those that there are, for messages.
const conditions = "JOB:ok (it must have completed) or JOB:any (however it has ended)"

// noSuchCondition is for users of Slurm, who look for it.
const noSuchCondition = "there is none for a job that failed, as Slurm's afternotok"

// notConditions are words that can only be meant as a condition, though there is none of that name;
// most are Slurm's.
var notConditions = map[string]bool{
	"": true, "after": true, "afterany": true, "afterburstbuffer": true, "aftercorr": true, "afternotok": true, "afterok": true, "notok": true, "singleton": true,
}

// conditionFault returns what is wrong with a job and the word after its last colon, nil where both
// may be an id. A key may hold colons, so nightly:7 is one: only the words above, and what follows
// an id that Pigeon made, are taken for conditions.
func conditionFault(job, word string) error {
	if first, _, _ := strings.Cut(job, ":"); first != "" && notConditions[strings.ToLower(first)] {
		return fmt.Errorf("%q is written as for Slurm; write %s, each job by itself; %s", job+":"+word, conditions, noSuchCondition)
	}
	lower := strings.ToLower(word)
	if _, err := ulid.ParseStrict(job); err != nil && !notConditions[lower] && lower != afterOK && lower != afterAny {
		return nil
	}
	return fmt.Errorf("%q is no condition; write %s; %s", ":"+word, conditions, noSuchCondition)
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
