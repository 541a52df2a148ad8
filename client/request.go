package client

import (
	"strconv"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// What jobs are made of, and what is known of them.
type (
	// Request is a job as an application submits it.
	Request = api.Request
	// Task is one task of a job.
	Task = api.Task
	// Payload is what a task runs.
	Payload = api.Payload
	// Exec is a program that a task runs, as those of [Programs] do.
	Exec = api.Exec
	// Limits bound each task of a job.
	Limits = api.Limits
	// After is a job after which another one starts.
	After = api.After
	// Array gives the tasks of a job indices of their own.
	Array = api.Array

	// Status is where a job stands.
	Status = api.Status
	// TaskStatus is where a task stands.
	TaskStatus = api.TaskStatus
	// State is the state of a job.
	State = api.State
	// Explanation is why a job waits, or why it ended as it did.
	Explanation = api.Explanation
	// JobFilter selects jobs of a list.
	JobFilter = api.JobFilter
	// Event is something that happened to a job or a node.
	Event = api.Event
	// EventQuery selects events.
	EventQuery = api.EventQuery
	// EventPage is an answer to an EventQuery.
	EventPage = api.EventPage

	// Error is a refusal: what happened, to what, what was tried, and what to do next.
	Error = api.Error
	// Problem is the kind of a refusal.
	Problem = api.Problem
)

// Programs returns a job with a task for each command line, which its node runs without a shell. The program
// is searched in PATH there.
func Programs(commands ...[]string) *Request {
	r := &Request{Backend: api.BackendExec}
	for i, argv := range commands {
		r.Tasks = append(r.Tasks, Task{ID: strconv.Itoa(i), Payload: Payload{Backend: api.BackendExec, Exec: &Exec{Argv: argv}}})
	}
	return r
}

// The states of a job.
const (
	Held      = api.StateHeld
	Queued    = api.StateQueued
	Running   = api.StateRunning
	Completed = api.StateCompleted
	Failed    = api.StateFailed
	Cancelled = api.StateCancelled
)

// The kinds of refusals.
const (
	Invalid  = api.Invalid
	NotFound = api.NotFound
	NotReady = api.NotReady
	Busy     = api.Busy
)
