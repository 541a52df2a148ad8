package wire

import (
	"context"
	"maps"

	"github.com/apache/thrift/lib/go/thrift"
)

// Gate returns a processor that serves the methods of p while closed returns nil. Otherwise a call
// is refused with what closed returns, and an answer that became ready meanwhile is not sent: its
// connection ends, so its caller looks for the daemon that answers instead.
func Gate(p thrift.TProcessor, closed func() error) thrift.TProcessor {
	for name, f := range maps.Clone(p.ProcessorMap()) {
		p.AddToProcessorMap(name, gated{name, f, closed})
	}
	return p
}

// gated is a method behind a gate.
type gated struct {
	name   string
	next   thrift.TProcessorFunction
	closed func() error
}

// Process implements thrift.TProcessorFunction.
func (g gated) Process(ctx context.Context, seqID int32, in, out thrift.TProtocol) (bool, thrift.TException) {
	if err := g.closed(); err != nil {
		return g.refuse(ctx, seqID, in, out, err)
	}
	return g.next.Process(ctx, seqID, in, gatedOutput{out, g.closed})
}

// refuse reads the arguments and writes the refusal, by the exception that the method declares.
func (g gated) refuse(ctx context.Context, seqID int32, in, out thrift.TProtocol, why error) (bool, thrift.TException) {
	if err := in.Skip(ctx, thrift.STRUCT); err != nil {
		return false, thrift.WrapTException(err)
	}
	if err := in.ReadMessageEnd(ctx); err != nil {
		return false, thrift.WrapTException(err)
	}
	kind, answer, thrown := Refused(g.name, why)
	var failed error
	for _, write := range []func() error{
		func() error { return out.WriteMessageBegin(ctx, g.name, kind, seqID) },
		func() error { return answer.Write(ctx, out) },
		func() error { return out.WriteMessageEnd(ctx) },
		func() error { return out.Flush(ctx) },
	} {
		if failed = write(); failed != nil {
			return false, thrift.WrapTException(failed)
		}
	}
	return true, thrift.WrapTException(thrown)
}

// gatedOutput writes an answer that is sent only while the gate is open.
type gatedOutput struct {
	thrift.TProtocol
	closed func() error
}

// Flush sends the answer, or ends the connection.
func (g gatedOutput) Flush(ctx context.Context) error {
	if g.closed() != nil {
		return thrift.ErrAbandonRequest
	}
	return g.TProtocol.Flush(ctx)
}
