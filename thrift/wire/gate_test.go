package wire_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var errStandby = &api.Error{Problem: api.NotReady, What: "it is a standby", Subject: "frontend f", Tried: "answering", Next: "call the leader", Address: "leader:1"}

// A call behind a closed gate is refused by the exception that its method declares, and the
// connection serves on when the gate opens.
func TestClosedGateRefuses(t *testing.T) {
	var open atomic.Bool
	closed := func() error {
		if open.Load() {
			return nil
		}
		return errStandby
	}
	srv := servertest.Start(t, wire.Gate(wire.SchedulerProcessor(&fakeScheduler{}), closed), server.Options{EndAfter: wire.EndsConnection})
	c, ctx := wire.NewSchedulerClient(pool(t, srv.Addr().String())), context.Background()
	_, statusErr := c.Status(ctx, "j")
	_, _, submitErr := c.Submit(ctx, &api.Request{Key: "k", Tasks: []api.Task{{ID: "t"}}})
	_, waitErr := c.Wait(ctx, "j", time.Minute)
	for _, err := range []error{statusErr, submitErr, waitErr} {
		got, ok := errors.AsType[*api.Error](err)
		if !ok || got.Problem != api.NotReady || got.Address != "leader:1" || got.What != errStandby.What {
			t.Errorf("refused with %v", err)
		}
	}
	open.Store(true)
	if _, err := c.Status(ctx, "j"); err != nil {
		t.Error(err)
	}
	open.Store(false)
	for _, m := range []string{"registerFrontend", "sendFrontendMessage", "submitJob"} {
		_, err := rawCall(t, srv.Addr().String(), m)
		if err == nil || !strings.Contains(err.Error(), "it is a standby") {
			t.Errorf("%s: %v", m, err)
		}
	}
}

// rawCall calls a published method without arguments.
func rawCall(t *testing.T, address, method string) (thrift.TStruct, error) {
	t.Helper()
	answer := new(textOf)
	err := pool(t, address).Do(context.Background(), func(ctx context.Context, c thrift.TClient) error {
		_, err := c.Call(ctx, method, noArguments{}, answer)
		return err
	})
	if err == nil && answer.text != "" {
		err = errors.New(answer.text)
	}
	return answer, err
}

type noArguments struct{}

func (noArguments) Read(context.Context, thrift.TProtocol) error { return nil }
func (noArguments) Write(ctx context.Context, p thrift.TProtocol) error {
	return errors.Join(p.WriteStructBegin(ctx, "args"), p.WriteFieldStop(ctx), p.WriteStructEnd(ctx))
}

// textOf reads a result whose exception has a text as its first field.
type textOf struct{ text string }

func (*textOf) Write(context.Context, thrift.TProtocol) error { return nil }
func (x *textOf) Read(ctx context.Context, p thrift.TProtocol) error {
	if _, _, _, err := p.ReadFieldBegin(ctx); err != nil { // the exception
		return err
	}
	if _, _, _, err := p.ReadFieldBegin(ctx); err != nil { // its text
		return err
	}
	var err error
	if x.text, err = p.ReadString(ctx); err != nil {
		return err
	}
	if err := p.Skip(ctx, thrift.STRUCT); err != nil { // the rest of the exception
		return err
	}
	return p.Skip(ctx, thrift.STRUCT) // the rest of the result
}

// An answer that is ready when the gate has closed is not sent.
func TestGateThatClosesWithholdsTheAnswer(t *testing.T) {
	var calls atomic.Int32
	closed := func() error {
		if calls.Add(1) > 1 { // open when the call comes, closed when its answer is ready
			return errStandby
		}
		return nil
	}
	srv := servertest.Start(t, wire.Gate(wire.SchedulerProcessor(&fakeScheduler{}), closed), server.Options{})
	c := wire.NewSchedulerClient(pool(t, srv.Addr().String()))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := c.Status(ctx, "j")
	var refusal *api.Error
	if err == nil || (errors.As(err, &refusal) && refusal.What == "") || ctx.Err() != nil {
		t.Errorf("answered with %v", err)
	}
}
