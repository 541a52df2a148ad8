package frontend

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// listen takes the ports; callers are answered once Run runs.
func (f *Frontend) listen() (err error) {
	f.scheduler, err = server.New(wire.WithApplications(wire.SchedulerProcessor(f), f), server.Options{
		Name: "scheduler service of " + f.cfg.ID, Address: f.cfg.Listen, MaxFrame: server.SubmitMaxFrame, Log: f.log,
	})
	if err == nil {
		err = f.scheduler.Listen()
	}
	if err != nil {
		return err
	}
	f.internal, err = server.New(wire.PeerProcessor(wire.PeerPorts{Batches: f, Reports: f, Files: f}, f.codec), server.Options{
		Name: "internal service of " + f.cfg.ID, Address: f.cfg.InternalListen, MaxFrame: wire.MaxBatchBytes, Log: f.log,
	})
	if err == nil {
		err = f.internal.Listen()
	}
	if err != nil || f.cfg.HTTP == "" {
		return err
	}
	f.web = telemetry.NewServer(telemetry.ServerOptions{Addr: f.cfg.HTTP, Gatherer: f.owner.meter.metrics.Registry, Ready: f.readiness, Logger: f.log})
	f.web.Handle("GET /status", telemetry.JSON(func(ctx context.Context) (any, error) { return f.List(ctx, 0) }))
	return f.web.Start()
}

// readiness returns why the frontend is not ready, nil when it is.
func (f *Frontend) readiness() error {
	select {
	case <-f.ready:
		return nil
	default:
		return errors.New("starting: masters were not asked yet")
	}
}
