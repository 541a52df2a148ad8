package api

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Problem is the kind of an [Error], by what a caller should do about it.
type Problem int

// The problems.
const (
	Invalid  Problem = iota + 1 // the request can never work as it is
	NotFound                    // no such job, task or node here
	Busy                        // a bound is reached; try again after RetryAfter
	NotReady                    // the daemon is starting or stopping; try again
	Internal                    // the daemon could not do it
	Denied                      // the caller may not do it, or has not proven who it is
)

// Error is every refusal a user sees. It has four parts: what happened, to what
// (job, task, node, file), what was tried, and what to do next.
type Error struct {
	Problem    Problem
	What       string // "the estimate is negative (-3s)"
	Subject    string // `job "nightly"`
	Tried      string // "submitting 3 tasks"; may be empty
	Next       string // "give a duration above zero, or leave it out"
	RetryAfter time.Duration
	// Address is the host:port of the daemon that answers the request instead: the leader,
	// where a standby refuses; the frontend that has the job, where another one is asked. It is
	// "" where none is known, and the text of the error does not repeat it.
	Address string
}

// Error puts the four parts into one line.
func (e *Error) Error() string {
	s := e.What
	if e.Subject != "" {
		s = e.Subject + ": " + s
	}
	if e.Tried != "" {
		s += " (while " + e.Tried + ")"
	}
	if e.Next != "" {
		s += "; " + e.Next
	}
	if e.RetryAfter > 0 {
		s += retryAfter(e.Next, e.RetryAfter)
	}
	return s
}

// retryAfter returns what follows the next step: when to do it, or that what was tried is to be
// tried again then, unless the next step says so.
func retryAfter(next string, wait time.Duration) string {
	milliseconds := (wait + time.Millisecond - 1) / time.Millisecond
	after := fmt.Sprintf("%d ms", milliseconds)
	if milliseconds >= 1000 {
		after = fmt.Sprintf("%g s", float64(milliseconds)/1000)
	}
	switch {
	case strings.HasSuffix(next, " again"):
		return " after " + after
	case strings.Contains(next, " again"):
		return "; wait " + after + " before that"
	}
	return "; retry after " + after
}

// Reason returns what happened by an error, without what was tried and what to do next; ""
// for nil.
func Reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.What
	}
	if err == nil {
		return ""
	}
	return err.Error()
}
