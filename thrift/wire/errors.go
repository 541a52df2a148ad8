package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// mostPart bounds the bytes of each part of a refusal that is sent. Refusals repeat names of the request,
// and some of these may be as long as a frame: a refusal that did not fit into one would not be sent.
const mostPart = 4 << 10

// bounded returns an error as it is sent: an *api.Error with all its parts, each of mostPart bytes at
// most. Other errors do not repeat the request. It returns nil for nil.
func bounded(err error) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || max(len(e.What), len(e.Subject), len(e.Tried), len(e.Next)) <= mostPart {
		return err
	}
	short := *e
	for _, part := range []*string{&short.What, &short.Subject, &short.Tried, &short.Next} {
		*part = api.Clip(*part, mostPart)
	}
	return &short
}

// refusal returns the exception that Pigeon's own methods declare; nil for nil.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	var e *api.Error
	switch {
	case errors.As(bounded(err), &e):
	case errors.Is(err, context.DeadlineExceeded):
		e = &api.Error{Problem: api.NotReady, What: "the caller's time limit has passed", Next: "allow more time, or try again"}
	default:
		e = &api.Error{Problem: api.Internal, What: err.Error(), Next: "look at the daemon's log"}
	}
	return &published.TPigeonException{
		What: e.What, Subject: e.Subject, Tried: e.Tried, Advice: e.Next,
		Problem: problemTo(e.Problem), RetryAfterMillis: millisUp(e.RetryAfter), Address: e.Address,
	}
}

// incomplete returns the exception that the published submitJob declares, with the whole
// text of the error; nil for nil.
func incomplete(err error) error {
	if err == nil {
		return nil
	}
	return &published.IncompleteRequestException{Message: bounded(err).Error()}
}

// EndsConnection reports whether a connection is closed after a reply with that exception.
// The prototypes close it after a refused submitJob, and clients written for them wait
// for that.
func EndsConnection(exception error) bool {
	var e *published.IncompleteRequestException
	return errors.As(exception, &e)
}

// Denial returns the refusal in the exception of a handler when the caller may not do what it
// asked for, nil for any other. The handlers of published methods return the refusal itself, except
// submitJob's (see [WithDenial]).
func Denial(exception error) error {
	if e, ok := errors.AsType[*api.Error](exception); ok && e.Problem == api.Denied {
		return e
	}
	e, ok := errors.AsType[*published.TPigeonException](exception)
	if !ok || problemFrom(e.Problem) != api.Denied {
		return nil
	}
	return callError(e, "")
}

type denialKey struct{}

// WithDenial returns the context of a call whose handler stores in denied why the caller may not do
// what it asked for, where its exception holds only a text: that is submitJob's.
func WithDenial(ctx context.Context, denied *error) context.Context {
	return context.WithValue(ctx, denialKey{}, denied)
}

// noteDenial stores a refusal for the caller of [WithDenial], if its caller was denied.
func noteDenial(ctx context.Context, refusal error) {
	if denied, ok := ctx.Value(denialKey{}).(*error); ok {
		*denied = Denial(refusal)
	}
}

// problemTo returns the number of a problem in published.thrift.
func problemTo(p api.Problem) int32 {
	switch p {
	case api.Invalid:
		return 1
	case api.NotFound:
		return 2
	case api.Busy:
		return 3
	case api.NotReady:
		return 4
	case api.Denied:
		return 6
	default:
		return 5
	}
}

func problemFrom(n int32) api.Problem {
	switch n {
	case 1:
		return api.Invalid
	case 2:
		return api.NotFound
	case 3:
		return api.Busy
	case 4:
		return api.NotReady
	case 6:
		return api.Denied
	default:
		return api.Internal
	}
}

// callError translates the error of a call; tried is the purpose of the call.
func callError(err error, tried string) error {
	var (
		known       *api.Error
		ours        *published.TPigeonException
		incomplete  *published.IncompleteRequestException
		application thrift.TApplicationException
	)
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, &known):
		return err
	case errors.As(err, &ours):
		return &api.Error{
			Problem: problemFrom(ours.Problem), What: ours.What, Subject: ours.Subject, Tried: ours.Tried, Next: ours.Advice,
			RetryAfter: time.Duration(ours.RetryAfterMillis) * time.Millisecond, Address: ours.Address,
		}
	case errors.As(err, &incomplete):
		return &api.Error{Problem: api.Invalid, What: incomplete.Message, Tried: tried}
	case errors.As(err, &application):
		return applicationError(application, tried)
	}
	what := fmt.Sprintf("the connection failed: %v", err)
	if errors.Is(err, context.DeadlineExceeded) {
		what = "no answer arrived within the deadline"
	}
	return &api.Error{Problem: api.NotReady, What: what, Tried: tried, Next: "check that the daemon runs at that address, then try again"}
}

func applicationError(e thrift.TApplicationException, tried string) error {
	if e.TypeId() == thrift.UNKNOWN_METHOD {
		return &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("the other side does not offer this method (%v)", e), Tried: tried,
			Next: "check that the address is that of the right kind of daemon, of the same version",
		}
	}
	return &api.Error{Problem: api.Internal, What: fmt.Sprintf("the other side failed: %v", e), Tried: tried, Next: "look at its log"}
}

func notHere(what string) error {
	return &api.Error{
		Problem: api.Invalid, What: "this daemon is no " + what, Subject: "call between daemons",
		Next: "check the addresses in the configuration of the daemon that called",
	}
}

func refusePeer(sender Ref, what string) error {
	return &api.Error{
		Problem: api.Invalid, What: what, Subject: fmt.Sprintf("message from %v", sender),
		Tried: "translating it; nothing of it was taken", Next: "run the same version of pigeon on all hosts",
	}
}

func refuseItem(sender Ref, i, n int, err error) error {
	return refuseBatch(sender, fmt.Sprintf("message %d of %d: %v", i+1, n, err))
}

func refuseBatch(sender Ref, what string) error {
	return &api.Error{
		Problem: api.Invalid, What: what, Subject: fmt.Sprintf("batch from %v", sender),
		Tried: "translating it; nothing of it was taken", Next: "run the same version of pigeon on all hosts",
	}
}

func epochFault(epoch uint64) string {
	return fmt.Sprintf("its epoch %d is above %d, which no number of restarts reaches", epoch, uint64(sched.MaxEpoch))
}

func badKind(app string, kind int32) error {
	return &api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("its type is %d", kind), Subject: fmt.Sprintf("backend of application %q", app),
		Tried: "registering it", Next: "use 0 (general), 1 (reserved) or 2 (resident)",
	}
}

func badAddress(s, what string) error {
	return &api.Error{
		Problem: api.Invalid, What: what, Subject: fmt.Sprintf("address %q", clip(s)), Tried: "parsing it",
		Next: "write host:port, for instance 127.0.0.1:20101",
	}
}

// declined turns a published method's plain false into an error.
func declined(ok bool, err error, tried string) error {
	if err == nil && !ok {
		return &api.Error{Problem: api.Internal, What: "the other side refused without a reason", Tried: tried, Next: "look at its log"}
	}
	return err
}

// notTheSender is for a caller that calls in the name of another daemon.
func notTheSender(role identity.Role, name string, caller identity.Principal, tried string) error {
	return &api.Error{
		Problem: api.Denied, What: fmt.Sprintf("the call is in the name of %s %s, and %s makes it", role, name, caller), Subject: "call between daemons",
		Tried: tried, Next: "give each daemon a certificate of its own, with its role and its name (pigeon pki issue)",
	}
}

func badInput(what string) error {
	return &api.Error{Problem: api.Invalid, What: what, Subject: "piece of standard input", Tried: "giving it to its task", Next: "correct the program that sent it"}
}

func tooManyJobs(n int) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("%d jobs were asked for, more than the limit of %d a call", n, MaxPage),
		Subject: "call between daemons", Tried: "counting their running tasks", Next: "ask for fewer at a time"}
}

// answerFor is for a master that answers for another number of jobs than were asked for.
func answerFor(answered, asked int) error {
	return &api.Error{Problem: api.Internal, What: fmt.Sprintf("the master answered for %d of %d jobs", answered, asked), Subject: "call between daemons", Next: "check that both sides run the same version"}
}
