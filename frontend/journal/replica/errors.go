package replica

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// FencedError reports that another process now writes the journal.
type FencedError struct {
	Stream string
	By     string // the process that writes, as far as known
}

// Error returns the text with advice: nothing was lost, and this process must end.
func (e *FencedError) Error() string {
	return fmt.Sprintf("journal stream %s: another process has taken it over (%s) (while writing; nothing of this process was accepted since); end this process: it becomes a standby when it is started again", e.Stream, e.By)
}

// LostError reports that the stream lacks messages that it had acknowledged.
type LostError struct{ err api.Error }

// Error returns the refusal as a line.
func (e *LostError) Error() string { return e.err.Error() }

// Unwrap returns the refusal with its four parts.
func (e *LostError) Unwrap() error { return &e.err }

func (s *Store) lost(what string) error {
	return &LostError{api.Error{Problem: api.Internal, Subject: "journal stream " + s.name, What: what,
		Tried: "comparing it with the copy in " + s.opts.Dir + "; nothing was changed",
		Next:  "look for the cause at the NATS servers (a restored backup, a disk replaced, sync_interval); keep a copy of that folder, and delete it only to go on with what the stream has, which loses the rest"}}
}

func (s *Store) refused(problem api.Problem, what, tried, next string) error {
	return &api.Error{Problem: problem, Subject: "journal stream " + s.name, What: what, Tried: tried, Next: next}
}

// wrongBucket is for an object store that cannot have the snapshots.
func wrongBucket(name, what, next string) error {
	return &api.Error{Problem: api.Invalid, Subject: "object store " + name, What: what, Tried: "opening it", Next: next}
}

func (s *Store) unreachable(tried string, err error) error {
	next := "check that the NATS servers run, that most of them are reachable and that JetStream is enabled"
	if c := code(err); c == jetstream.JSErrCodeJetStreamNotEnabled || c == jetstream.JSErrCodeJetStreamNotEnabledForAccount {
		next = "enable JetStream on the NATS servers, or use journal: local"
	}
	refusal := s.refused(api.NotReady, err.Error(), tried, next)
	if silent(err) {
		return &silentError{refusal}
	}
	return refusal
}

// silentError is the refusal of servers that have not answered.
type silentError struct{ error }

// Unwrap returns the refusal.
func (e *silentError) Unwrap() error { return e.error }

// code returns the error code of JetStream, 0 for none.
func code(err error) jetstream.ErrorCode {
	if e, ok := errors.AsType[*jetstream.APIError](err); ok {
		return e.ErrorCode
	}
	var j jetstream.JetStreamError
	if errors.As(err, &j) && j.APIError() != nil {
		return j.APIError().ErrorCode
	}
	return 0
}

// Codes of JetStream that the client library does not name.
const (
	codeAccountResources jetstream.ErrorCode = 10002
	codeNoPeers          jetstream.ErrorCode = 10005
	codeInsufficient     jetstream.ErrorCode = 10023
	codeStorage          jetstream.ErrorCode = 10047
	codeStoreFailed      jetstream.ErrorCode = 10077
)

// outcome of a publish.
type outcome int

const (
	stored   outcome = iota
	conflict         // the stream's last message is another than expected
	full             // there is no room
	tooLarge         // for a message
	unknown          // it may be stored or not
)

// classify returns what an error of a publish means.
func classify(err error) outcome {
	switch code(err) {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return conflict
	case codeAccountResources, codeInsufficient, codeStorage, codeStoreFailed:
		return full
	case jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return tooLarge
	}
	switch {
	case err == nil:
		return stored
	case errors.Is(err, nats.ErrMaxPayload):
		return tooLarge
	}
	return unknown
}

func isCode(err error, c jetstream.ErrorCode) bool { return code(err) == c }

// silent reports whether an error of the client library is a missing answer, which another try may
// bring, and no answer.
func silent(err error) bool {
	for _, missing := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrConnectionClosed, nats.ErrConnectionReconnecting,
		nats.ErrDisconnected, nats.ErrNoServers, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, missing) {
			return true
		}
	}
	return code(err) == codeNotLeader
}

// ended reports whether a call ended because its caller did.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

// copyErr is for a copy that cannot be written. The stream is not affected.
func (s *Store) copyErr(err error) error {
	next := "check the disk, and start the frontend again: it makes the copy again from the stream"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		next = "make room on the disk, and start the frontend again: the stream has everything that was acknowledged"
	}
	return &api.Error{Problem: api.Internal, Subject: "copy of the journal in " + s.folder(), What: "its store failed: " + err.Error(), Tried: "writing there what the stream has; nothing is lost", Next: next}
}
