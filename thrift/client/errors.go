package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/frame"
)

// CallError is the error of a call without an answer. It unwraps to its four parts, an
// *api.Error, and to its cause: context.DeadlineExceeded when time ran out,
// context.Canceled when the caller cancelled, else the error of the network.
type CallError struct {
	Parts *api.Error
	Sent  bool // the peer may have executed the call
	Cause error
}

func (e *CallError) Error() string   { return e.Parts.Error() }
func (e *CallError) Unwrap() []error { return []error{e.Parts, e.Cause} }

var (
	errClosed  = errors.New("the pool is closed")
	errBackoff = errors.New("backing off after a failed dial")
	errFull    = errors.New("every connection of the pool is in use")
	errReply   = errors.New("the reply is not understood")
)

// failure returns the error of a call without an answer.
func (p *Pool) failure(cause error, sent bool, tried string) *CallError {
	parts := &api.Error{
		Problem: api.NotReady,
		Subject: p.opts.Name + " at " + p.opts.Address,
		Tried:   tried,
		What:    cause.Error(),
		Next:    "check that it runs and that the address is right, then try again",
	}
	other, _ := errors.AsType[*frame.OversizeError](cause)
	if unsecured(parts, cause) {
		return &CallError{Parts: parts, Sent: sent, Cause: cause}
	}
	switch {
	case other != nil && other.Guess != "":
		parts.Problem, parts.Next = api.Invalid, "check the address: another program listens there"
		return &CallError{Parts: parts, Sent: sent, Cause: cause}
	case errors.Is(cause, context.Canceled):
		parts.What, parts.Next = "the caller cancelled the call", "nothing to do"
	case errors.Is(cause, errFull):
		parts.Problem = api.Busy
		parts.What = fmt.Sprintf("all %d connections are in use (Options.MaxConns)", p.opts.MaxConns)
		parts.Next = "try again, or allow more connections"
	case errors.Is(cause, context.DeadlineExceeded):
		parts.What = "no answer within the deadline"
	case errors.Is(cause, errBackoff):
		parts.What, parts.RetryAfter = p.lastDialError(), p.backoffLeft()
	case errors.Is(cause, errClosed):
		parts.Next = "nothing to do: this daemon is stopping"
	case errors.Is(cause, frame.ErrTooLarge):
		parts.Problem, parts.Next = api.Invalid, "send less at a time"
		parts.What = fmt.Sprintf("the call is larger than the limit of %d bytes", p.opts.MaxFrame) // the error names what Thrift was writing
	case errors.Is(cause, errReply):
		parts.Problem, parts.Next = api.Internal, "check that both sides run the same version"
	}
	if sent {
		parts.Next = "the call may have been executed; " + parts.Next
	}
	return &CallError{Parts: parts, Sent: sent, Cause: cause}
}

// refusal returns the error of a call that this daemon may not make now: its own reason says what to
// do next, and not that the peer should be examined. The address in it is another process's, not
// the peer's.
func (p *Pool) refusal(reason error) *CallError {
	own, ok := errors.AsType[*api.Error](reason)
	if !ok {
		return p.failure(reason, false, "calling it")
	}
	parts := *own
	parts.Tried, parts.Address = "calling "+p.opts.Name+" at "+p.opts.Address, ""
	return &CallError{Parts: &parts, Cause: reason}
}

// backoffLeft returns how long the pause after a failed dial still lasts.
func (p *Pool) backoffLeft() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(time.Until(p.dialAt), 0)
}

func (p *Pool) lastDialError() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dialErr == nil {
		return "cannot connect"
	}
	return "cannot connect: " + p.dialErr.Error()
}

// isReply reports whether err is a complete answer of the peer: success, an exception
// that the service declares, or one of the kind that every service may send. The
// remaining types show that the connection is out of step.
func isReply(err error) bool {
	if err == nil {
		return true
	}
	var te thrift.TException
	if !errors.As(err, &te) {
		return false
	}
	if x, ok := errors.AsType[thrift.TApplicationException](err); ok {
		switch x.TypeId() {
		case thrift.WRONG_METHOD_NAME, thrift.BAD_SEQUENCE_ID,
			thrift.INVALID_MESSAGE_TYPE_EXCEPTION, thrift.PROTOCOL_ERROR:
			return false
		}
		return true
	}
	return te.TExceptionType() == thrift.TExceptionTypeCompiled
}
