package api

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Event is something that happened, as a frontend learned it: a line of pigeon events.
type Event struct {
	Index     uint64 `json:"index"`               // counts the events of the frontend's process, from 1, without gaps
	Epoch     uint64 `json:"epoch"`               // of the frontend's process: when it began, in Unix microseconds; another one means that it was started again, or that a standby took over
	Time      string `json:"time"`                // when the frontend learned it, RFC 3339 in UTC with milliseconds
	Type      string `json:"type"`                // what happened, such as job_failed
	Severity  string `json:"severity"`            // info, warning or error
	Frontend  string `json:"frontend"`            // which learned it
	Message   string `json:"message"`             // what happened, as a sentence
	Reason    string `json:"reason,omitempty"`    // a code, where there is one: of a failure, such as out_of_memory, or the limit of a refusal, such as quota
	Job       string `json:"job,omitempty"`       // the job's id
	Task      *int   `json:"task,omitempty"`      // its number in the job, from 0; left out when the event is about none
	Attempt   int    `json:"attempt,omitempty"`   // at the task
	Node      string `json:"node,omitempty"`      // the node's name
	Group     *int   `json:"group,omitempty"`     // the group's number, from 0; likewise
	Owner     string `json:"owner,omitempty"`     // for whom the job runs
	Submitter string `json:"submitter,omitempty"` // who submitted it, as was proven then
	Count     int64  `json:"count,omitempty"`     // of what the event sums up; left out for one
}

// The severities of events.
const (
	SeverityInfo    = "info"
	SeverityWarning = "warning" // something was lost or refused, and Pigeon continues by itself
	SeverityError   = "error"   // a job or a task has failed, or a group has no master
)

// The types of events. The first word is what they are about.
const (
	EventJobSubmitted = "job_submitted"
	EventJobHeld      = "job_held"
	EventJobReleased  = "job_released"
	EventJobStarted   = "job_started"
	EventJobReclassed = "job_reclassed"
	EventJobCompleted = "job_completed"
	EventJobFailed    = "job_failed"
	EventJobCancelled = "job_cancelled"

	EventAttemptFailed = "attempt_failed"
	EventAttemptLost   = "attempt_lost"
	EventTasksRetried  = "tasks_retried"
	EventTaskFailed    = "task_failed"

	EventSubmissionRefused = "submission_refused"

	EventNodeJoined    = "node_joined"
	EventNodeRestarted = "node_restarted"
	EventNodeDraining  = "node_draining"
	EventNodeDrained   = "node_drained"
	EventNodeResumed   = "node_resumed"
	EventNodeStopped   = "node_stopped"
	EventNodeLost      = "node_lost"
	EventNodeOrdered   = "node_ordered"
	EventNodeForgotten = "node_forgotten"

	EventGroupUp      = "group_up"
	EventGroupChanged = "group_changed"
	EventGroupLost    = "group_lost"

	EventFrontendStarted = "frontend_started"
	EventFrontendLeads   = "frontend_leads"
	EventFrontendJoined  = "frontend_joined"
	EventFrontendLeft    = "frontend_left"
)

// EventTypes returns all types of events.
func EventTypes() []string {
	return []string{
		EventJobSubmitted, EventJobHeld, EventJobReleased, EventJobStarted, EventJobReclassed, EventJobCompleted, EventJobFailed, EventJobCancelled,
		EventAttemptFailed, EventAttemptLost, EventTasksRetried, EventTaskFailed,
		EventSubmissionRefused,
		EventNodeJoined, EventNodeRestarted, EventNodeDraining, EventNodeDrained, EventNodeResumed, EventNodeStopped, EventNodeLost, EventNodeOrdered, EventNodeForgotten,
		EventGroupUp, EventGroupChanged, EventGroupLost,
		EventFrontendStarted, EventFrontendLeads, EventFrontendJoined, EventFrontendLeft,
	}
}

// IsAboutJobState reports whether a type states in which state a job is, which every user may
// see.
func IsAboutJobState(eventType string) bool { return strings.HasPrefix(eventType, "job_") }

// eventTime is the layout of the time of an event.
const eventTime = "2006-01-02T15:04:05.000Z"

// EventTime returns an instant in the format of events. Their order as texts is that of the
// instants.
func EventTime(t time.Time) string { return t.UTC().Format(eventTime) }

// EventQuery selects events of one frontend. The zero value selects all that it keeps.
type EventQuery struct {
	Epoch uint64        // of the process that After is of; 0: whichever answers
	After uint64        // events with a higher index
	Since time.Duration // not older than that; 0 for all
	Types []string      // of one of these types, or of one that begins with one of these words
	Job   string        // about a job whose id begins with this
	Owner string        // and those below it
	Node  string
	Limit int           // of events in the answer; 0: EventPageMost
	Wait  time.Duration // how long an answer without events may be held back, EventWaitMost at most
}

// Bounds of one answer.
const (
	EventPageMost = 1000
	EventWaitMost = time.Minute
)

// Validate returns why a query cannot be answered, an *Error.
func (q *EventQuery) Validate() error {
	for _, t := range q.Types {
		if !slices.ContainsFunc(EventTypes(), func(known string) bool { return isOfType(known, t) }) {
			return &Error{Problem: Invalid, What: "there is no such type", Subject: fmt.Sprintf("events of type %q", t), Tried: "selecting them",
				Next: "name some of " + strings.Join(EventTypes(), ", ") + ", or the first word of several, such as node"}
		}
	}
	return CheckOwner(q.Owner)
}

// Matches reports whether an event is selected by what it is about.
func (q *EventQuery) Matches(e *Event) bool {
	switch {
	case q.Job != "" && (e.Job == "" || !strings.HasPrefix(e.Job, q.Job)):
		return false
	case q.Owner != "" && !IsBelow(e.Owner, q.Owner), q.Node != "" && e.Node != q.Node:
		return false
	}
	return len(q.Types) == 0 || slices.ContainsFunc(q.Types, func(t string) bool { return isOfType(e.Type, t) })
}

// isOfType reports whether a type is the one that is named, or begins with that word.
func isOfType(t, named string) bool {
	return t == named || strings.HasPrefix(t, named) && t[len(named)] == '_'
}

// EventPage is the answer of one frontend.
type EventPage struct {
	Frontend string
	Epoch    uint64 // of its process
	Events   []Event
	Last     uint64 // the index to continue after
	More     bool   // events follow that are there already
	Missed   uint64 // events after the one named that are not kept any more
}
