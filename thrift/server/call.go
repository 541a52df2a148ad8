package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/frame"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// call hands one message to the processor. An error ends the connection, for the
// reason given.
func (c *conn) call(ctx context.Context, body []byte) (Reason, error) {
	head, err := frame.ParseHeader(body)
	if err != nil {
		return Malformed, err
	}
	if head.Type != thrift.CALL && head.Type != thrift.ONEWAY {
		return Malformed, fmt.Errorf("a message of type %d where a call is expected", head.Type)
	}
	c.server.count.frames.Add(1)
	c.caller.subject, c.caller.denial = "", nil
	refusal, last := c.refusal(head)
	if refusal != nil {
		c.decided(head.Name, refusal)
		return c.refuse(ctx, head, refusal, last)
	}
	c.transport.Load(body)
	ok, failure, panicked := c.process(ctx, head)
	c.decided(head.Name, cmp.Or(wire.Denial(failure), c.caller.denial))
	switch {
	case panicked != nil:
		return Panicked, panicked
	case c.sendErr != nil:
		return c.notSent()
	case errors.Is(failure, thrift.ErrAbandonRequest):
		return Finished, failure
	case errors.Is(failure, frame.ErrTooLarge):
		c.server.count.failed.Add(1)
		return c.answer(ctx, head, fmt.Sprintf("%s: the reply exceeds the limit of %d bytes; ask for less at a time",
			head.Name, c.server.opts.MaxFrame))
	case ok || unknownMethod(failure):
		if undeclared(failure) {
			c.server.count.failed.Add(1)
		}
	default:
		return Malformed, fmt.Errorf("%s: %w", head.Name, failure)
	}
	if n := c.transport.RemainingBytes(); n > 0 {
		return Malformed, fmt.Errorf("%s: %d bytes follow the message in its frame", head.Name, n)
	}
	if failure != nil && c.caller.failed >= mostProofs {
		return Unproven, failure
	}
	if c.caller.full != nil { // it has not proven to be another, or to be one that has too many connections itself
		return CallerFull, c.caller.full
	}
	if failure != nil && c.server.opts.EndAfter(failure) {
		return Declined, failure
	}
	return Finished, nil
}

// process calls the processor and contains its panics: the caller gets an
// error, its connection ends, others continue.
func (c *conn) process(ctx context.Context, head frame.Header) (ok bool, failure, panicked error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		c.server.count.panics.Add(1)
		panicked = fmt.Errorf("%s panicked: %v", head.Name, p)
		c.server.gate.warn(Panicked, "a handler panicked; its caller's connection is closed",
			"remote", c.socket.RemoteAddr(), "error", panicked, "stack", string(debug.Stack()))
		_, _ = c.answer(ctx, head, fmt.Sprintf("%s: internal error; the log of the %s has the details",
			head.Name, c.server.opts.Name))
	}()
	var te thrift.TException
	processor := c.server.processor
	if c.proves(head) {
		processor = wire.IdentityProcessor(c)
	}
	if ok, te = processor.Process(ctx, c.protocol, c.protocol); te != nil {
		failure = te
	} else if !ok {
		failure = errors.New("the processor failed without a reason")
	}
	return ok, failure, nil
}

// answer sends an exception in place of a reply.
func (c *conn) answer(ctx context.Context, head frame.Header, message string) (Reason, error) {
	c.transport.Load(nil)
	if head.Type == thrift.ONEWAY {
		return Finished, nil
	}
	return c.write(ctx, head, thrift.EXCEPTION, thrift.NewTApplicationException(thrift.INTERNAL_ERROR, message))
}

// write sends a message that the server made itself.
func (c *conn) write(ctx context.Context, head frame.Header, kind thrift.TMessageType, message thrift.TStruct) (Reason, error) {
	err := errors.Join(
		c.protocol.WriteMessageBegin(ctx, string(head.Name), kind, head.Seq),
		message.Write(ctx, c.protocol),
		c.protocol.WriteMessageEnd(ctx),
		c.protocol.Flush(ctx),
	)
	if err != nil {
		return c.notSent()
	}
	return Finished, nil
}

// notSent classifies the errors of sending a reply.
func (c *conn) notSent() (Reason, error) {
	if errors.Is(c.sendErr, os.ErrDeadlineExceeded) {
		return Unread, fmt.Errorf("the peer did not read its reply within %v", c.server.opts.WriteTimeout)
	}
	return Vanished, c.sendErr
}

// undeclared reports whether a call was answered with an error that its service
// does not declare.
func undeclared(err error) bool {
	var te thrift.TException
	return errors.As(err, &te) && te.TExceptionType() != thrift.TExceptionTypeCompiled
}

// unknownMethod reports whether the processor has already answered that it does
// not know the method, which is no reason to end the connection.
func unknownMethod(err error) bool {
	var x thrift.TApplicationException
	return errors.As(err, &x) && x.TypeId() == thrift.UNKNOWN_METHOD
}
