package frontend

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// listen takes the ports; callers are answered once Run runs.
func (f *Frontend) listen() (err error) {
	f.scheduler, err = f.life.Listen(wire.WithApplications(wire.SchedulerProcessor(f), f), server.Options{
		Name: "scheduler service of " + f.cfg.ID, Address: f.cfg.Listen, MaxFrame: server.SubmitMaxFrame,
	})
	if err != nil {
		return err
	}
	f.internal, err = f.life.Listen(wire.PeerProcessor(wire.PeerPorts{Batches: f, Reports: f, Files: f}, f.codec), server.Options{
		Name: "internal service of " + f.cfg.ID, Address: f.cfg.InternalListen, MaxFrame: wire.MaxBatchBytes,
	})
	if err != nil {
		return err
	}
	f.web, err = f.life.Status(f.cfg.HTTP, f.owner.meter.metrics, nil, func(s *telemetry.Server) {
		s.Handle("GET /status", telemetry.JSON(func(ctx context.Context) (any, error) { return f.List(ctx, 0) }))
	})
	return err
}
