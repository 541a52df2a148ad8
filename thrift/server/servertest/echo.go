// Package servertest has the smallest Thrift service there is, echo, and a
// server of it that lives as long as a test. Tests of the server and of the
// client pool use it, so that they need no generated code.
package servertest

import (
	"context"
	"errors"

	"github.com/apache/thrift/lib/go/thrift"
)

// Refused is the exception that echo declares.
type Refused struct{ Text string }

func (r *Refused) Error() string { return r.Text }

// TExceptionType makes Refused an exception as generated code declares one.
func (*Refused) TExceptionType() thrift.TExceptionType { return thrift.TExceptionTypeCompiled }

// Echo is a thrift.TProcessor with one method, echo(1: string) -> string throws
// (1: Refused), answered by the function.
type Echo func(ctx context.Context, text string) (string, error)

// ProcessorMap is not used by servers.
func (Echo) ProcessorMap() map[string]thrift.TProcessorFunction { return nil }

// AddToProcessorMap is not used by servers.
func (Echo) AddToProcessorMap(string, thrift.TProcessorFunction) {}

// Process answers one call the way generated processors do.
func (e Echo) Process(ctx context.Context, in, out thrift.TProtocol) (bool, thrift.TException) {
	name, _, seq, err := in.ReadMessageBegin(ctx)
	if err != nil {
		return false, thrift.WrapTException(err)
	}
	if name != "echo" {
		_ = in.Skip(ctx, thrift.STRUCT)
		x := thrift.NewTApplicationException(thrift.UNKNOWN_METHOD, "Unknown function "+name)
		_ = reply(ctx, out, name, thrift.EXCEPTION, seq, x)
		return false, x
	}
	var arg, result field
	if err := arg.Read(ctx, in); err != nil {
		x := thrift.NewTApplicationException(thrift.PROTOCOL_ERROR, err.Error())
		_ = reply(ctx, out, name, thrift.EXCEPTION, seq, x)
		return false, thrift.WrapTException(err)
	}
	text, failure := e(ctx, arg.text)
	result.id, result.text = 0, text
	if refused, ok := errors.AsType[*Refused](failure); ok {
		result.id, result.text = 1, refused.Text
	} else if failure != nil {
		x := thrift.NewTApplicationException(thrift.INTERNAL_ERROR, failure.Error())
		if err := reply(ctx, out, name, thrift.EXCEPTION, seq, x); err != nil {
			return false, thrift.WrapTException(err)
		}
		return true, thrift.WrapTException(failure)
	}
	if err := reply(ctx, out, name, thrift.REPLY, seq, &result); err != nil {
		return false, thrift.WrapTException(err)
	}
	return true, thrift.WrapTException(failure)
}

// Call calls echo as generated clients do.
func Call(ctx context.Context, c thrift.TClient, text string) (string, error) {
	var result field
	if _, err := c.Call(ctx, "echo", &field{id: 1, text: text}, &result); err != nil {
		return "", err
	}
	if result.id == 1 {
		return "", &Refused{Text: result.text}
	}
	return result.text, nil
}

// reply writes a whole message; as in generated code a failed write does not
// keep Flush from being called.
func reply(ctx context.Context, out thrift.TProtocol, name string, kind thrift.TMessageType, seq int32, body interface {
	Write(context.Context, thrift.TProtocol) error
}) error {
	var first error
	for _, err := range []error{
		out.WriteMessageBegin(ctx, name, kind, seq),
		body.Write(ctx, out),
		out.WriteMessageEnd(ctx),
		out.Flush(ctx),
	} {
		if first == nil {
			first = err
		}
	}
	return first
}

// field is a struct of one string field, whatever its id.
type field struct {
	id   int16
	text string
}

func (f *field) Write(ctx context.Context, out thrift.TProtocol) error {
	if err := out.WriteFieldBegin(ctx, "text", thrift.STRING, f.id); err != nil {
		return err
	}
	if err := out.WriteString(ctx, f.text); err != nil {
		return err
	}
	return out.WriteFieldStop(ctx)
}

func (f *field) Read(ctx context.Context, in thrift.TProtocol) error {
	for {
		_, kind, id, err := in.ReadFieldBegin(ctx)
		if err != nil || kind == thrift.STOP {
			return err
		}
		if kind != thrift.STRING {
			if err := in.Skip(ctx, kind); err != nil {
				return err
			}
			continue
		}
		if f.text, err = in.ReadString(ctx); err != nil {
			return err
		}
		f.id = id
	}
}
