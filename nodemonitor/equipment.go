package nodemonitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/process"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/sleep"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// equipment is what runs tasks, and what that needs.
type equipment struct {
	cfg      Config
	log      *slog.Logger
	tracing  *telemetry.Tracing
	guard    *guard.Client
	logs     *logs.Store
	backends map[api.Backend]backend.Backend
	registry *app.Registry
	launches *connections.Pools // to backend processes
	owned    []func() error
}

// openEquipment makes the built-in backends; the registry follows when its events
// can be taken.
func openEquipment(cfg Config, deps Deps, log *slog.Logger) (_ *equipment, err error) {
	e := &equipment{cfg: cfg, log: log, tracing: deps.Tracing, guard: deps.Guard, launches: connections.New("backend")}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	if e.logs, err = logs.Open(logs.Config{Root: cfg.workDir(os.TempDir()), Retention: cfg.LogRetention, MaxBytes: cfg.LogLimit}); err != nil {
		return nil, err
	}
	e.owns(e.logs.Close)
	if e.tracing == nil {
		if e.tracing, err = telemetry.Setup(context.Background(), telemetry.Options{
			Service: "pigeon-nodemonitor", Instance: cfg.ID, Endpoint: cfg.OTLP, Ratio: 1, Logger: log,
		}); err != nil {
			return nil, err
		}
		e.owns(e.endTracing)
	}
	if e.guard == nil {
		e.guard = guard.New(guard.Options{MaxRunning: cfg.MaxProcesses})
		e.owns(func() error { e.guard.Close(cfg.Grace); return nil })
	}
	sleeps := sleep.New()
	grace := cfg.Grace
	if grace == 0 {
		grace = -1 // none, as the backend has it
	}
	execs := process.New(process.Config{Guard: e.guard, Logs: e.logs, Node: cfg.ID, Grace: grace, Limit: cfg.OutputLimit, Logger: log})
	e.owns(func() error { sleeps.Close(); execs.Close(); return nil })
	e.backends = map[api.Backend]backend.Backend{api.BackendSleep: sleeps, api.BackendExec: execs}
	return e, nil
}

// owns notes what close has to end, last first.
func (e *equipment) owns(end func() error) { e.owned = append(e.owned, end) }

func (e *equipment) endTracing() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return e.tracing.Shutdown(ctx)
}

// register makes the registry of backend processes and gives what it offers them.
func (e *equipment) register(events app.Events, messages *messages, policy string, numbered bool) wire.BackendRegistry {
	e.registry = app.New(app.Config{
		Launch: e.launch, Events: events, Node: e.cfg.ID, FirstSlot: int32(e.cfg.Slots), //nolint:gosec // validated
		MaxBackends: e.cfg.MaxBackends, Logger: e.log,
	})
	e.backends[api.BackendApp] = e.registry
	e.owns(func() error { e.registry.Close(); e.launches.Close(); return nil })
	return backendService{e.registry, messages, e.cfg.ID, policy, numbered}
}

// launch hands a task to the backend process at the address.
func (e *equipment) launch(ctx context.Context, address string, t *backend.Task) error {
	pool, err := e.launches.At(address)
	if err != nil {
		return err
	}
	ref := wire.TaskRef{Task: t.TaskName, Job: t.JobName, App: t.App, Scheduler: t.Owner, HT: t.HT}
	err = wire.NewBackendClient(pool).LaunchTask(ctx, t.Payload.Message, ref, t.User)
	var unanswered *client.CallError
	if err == nil || errors.As(err, &unanswered) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", app.ErrRefused, err)
}

// stopTasks ends everything that runs; when it returns all ends have been told.
func (e *equipment) stopTasks() {
	for _, b := range []api.Backend{api.BackendApp, api.BackendExec, api.BackendSleep} {
		e.backends[b].Close()
	}
}

// close ends what is left. It is safe at any stage, and twice.
func (e *equipment) close() (err error) {
	for len(e.owned) > 0 {
		last := len(e.owned) - 1
		err = errors.Join(err, e.owned[last]())
		e.owned = e.owned[:last]
	}
	return err
}

// backendService is the published service: the registry, and the messages to applications.
type backendService struct {
	registry *app.Registry
	wire.MessageRelay
	node     string
	policy   string
	numbered bool
}

var _ wire.BackendRegistry = backendService{}

// Register takes note of a backend process, under a policy that knows them.
func (b backendService) Register(_ context.Context, application, address string, kind wire.BackendKind) error {
	if b.numbered {
		return &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("policy %s runs sleep and exec tasks only", b.policy),
			Subject: fmt.Sprintf("backend %s of application %q", address, application), Tried: fmt.Sprintf("registering it with node %q", b.node),
			Next: "run the cluster under policy pigeon, pigeon-sort or pigeon-x",
		}
	}
	return b.registry.Register(application, address, app.Kind(kind))
}

// TasksFinished ends tasks that ran in a backend process.
func (b backendService) TasksFinished(_ context.Context, tasks []wire.TaskRef, worker string) error {
	refs := make([]app.TaskRef, len(tasks))
	for i, t := range tasks {
		refs[i] = app.TaskRef{Job: t.Job, Task: t.Task, App: t.App, Owner: t.Scheduler}
	}
	b.registry.Finished(worker, refs)
	return nil
}
