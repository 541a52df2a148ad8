package jobs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// knowsNoJob is a frontend that has no job to cancel.
type knowsNoJob struct{ wire.Scheduler }

// Cancel implements [wire.Scheduler].
func (knowsNoJob) Cancel(context.Context, string) (api.Status, error) {
	return api.Status{}, &api.Error{Problem: api.NotFound, What: "no such job"}
}

// The order to cancel a job that never arrives is repeated for as long as any cancellation takes.
func TestRunInterruptedWithoutAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := servertest.NewPipes()
		s, err := server.New(wire.SchedulerProcessor(knowsNoJob{}), server.Options{Listener: pipes, Security: servertest.Anybody(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		stop := servertest.Run(t, s)
		c, err := client.New(client.Options{Addresses: []string{"a:1"}, Timeout: time.Second, Retry: time.Minute, Dial: pipes.Dial})
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		began := time.Now()
		err = cancelUnanswered(t.Context(), &errs, c, &client.AnswerError{Job: "k", Frontend: "a:1"})
		if end, ok := errors.AsType[cli.SilentError](err); !ok || end.Code != cli.ExitInterrupted || time.Since(began) != connect.CancelTime || errs.String() != "interrupted; frontend a:1 has not accepted job k\n" {
			t.Errorf("%v after %v: %s", err, time.Since(began), errs.String())
		}
		if err := errors.Join(c.Close(), stop()); err != nil {
			t.Error(err)
		}
	})
}
