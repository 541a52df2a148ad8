package wire

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// requestFrom reads a job from either a published client or one of ours. It
// checks nothing: api.Request.Validate does. A task without an id gets its number.
func requestFrom(t *published.TSchedulingRequest) *api.Request {
	if t == nil {
		return &api.Request{}
	}
	user := userFrom(t.User)
	r := &api.Request{
		App: t.App, User: user.Name, UserGroup: user.Group, Priority: user.Priority, Description: t.GetDescription(), Key: t.IdempotencyKey,
		Owner: t.Owner, Name: t.Name, Frontend: t.Frontend,
		Backend: api.Backend(t.Backend), Class: t.JobClass, EstimateSet: t.IsSetEstimateNanos(),
		Estimate: time.Duration(t.GetEstimateNanos()), AvgMillis: t.GetAvgTasksExecDuration(),
		Retries: int(t.Retries), Restartable: t.Restartable, NoSuspend: t.NoSuspend, MaxDisconnect: time.Duration(t.MaxDisconnectNanos), Trace: traceFrom(t.Trace), Tasks: make([]api.Task, len(t.Tasks)),
		Limits: api.Limits{Memory: t.MemoryBytes, CPUs: t.Cpus, Time: time.Duration(t.TimeLimitNanos)},
		After:  mapped(t.After, afterFrom), MaxRunning: int(t.MaxRunning),
		Stage: mapped(t.Stage, stagedFileFrom),
	}
	if t.Array != nil {
		r.Array = arrayFrom(t.Array)
	}
	if t.IsSetPriority() {
		r.Priority = t.GetPriority()
	}
	shared := optionalFrom(t.Process, execFrom)
	for i, spec := range t.Tasks {
		r.HT = r.HT || spec.IsHT
		task := &r.Tasks[i]
		if task.ID = spec.TaskId; task.ID == "" {
			task.ID = taskNumber(i)
		}
		task.Payload.Backend = r.Backend
		switch r.Backend {
		case api.BackendSleep:
			task.Payload.Sleep = time.Duration(spec.SleepNanos)
		case api.BackendExec:
			task.Payload.Exec = processOf(spec.Process, shared)
		default:
			task.Payload.Message = spec.Message
		}
	}
	return r
}

// processOf returns the process of a task: what it does not have of its own is that of the process
// that the tasks share. All of it is shared, not copied.
func processOf(own *published.TExec, shared *api.Exec) *api.Exec {
	if own == nil || shared == nil {
		return cmp.Or(optionalFrom(own, execFrom), shared)
	}
	e := execFrom(own)
	if len(e.Argv) == 0 {
		e.Argv = shared.Argv
	}
	if len(e.Env) == 0 {
		e.Env = shared.Env
	}
	if len(e.Script) == 0 {
		e.Script = shared.Script
	}
	e.Dir, e.Stdin = cmp.Or(e.Dir, shared.Dir), e.Stdin || shared.Stdin
	return &e
}

// share leaves in the request of one process for all tasks only that process.
func share(t *published.TSchedulingRequest, r *api.Request) {
	first := r.Tasks[0].Payload.Exec
	for i := range r.Tasks {
		if e := r.Tasks[i].Payload.Exec; e == nil || !e.Equal(first) {
			return
		}
	}
	t.Process = t.Tasks[0].Process
	for _, spec := range t.Tasks {
		spec.Process = nil
	}
}

func requestTo(r *api.Request) *published.TSchedulingRequest {
	t := &published.TSchedulingRequest{
		App: r.App, IdempotencyKey: r.Key, JobClass: r.Class, Backend: string(r.Backend), Retries: n32(r.Retries), Restartable: r.Restartable, NoSuspend: r.NoSuspend,
		MaxDisconnectNanos: int64(r.MaxDisconnect), Owner: r.Owner, Name: r.Name, Frontend: r.Frontend,
		MemoryBytes: r.Limits.Memory, Cpus: r.Limits.CPUs, TimeLimitNanos: int64(r.Limits.Time),
		Trace: traceTo(r.Trace), Tasks: make([]*published.TTaskSpec, len(r.Tasks)), After: mapped(r.After, afterTo), MaxRunning: n32(r.MaxRunning),
		Stage: mapped(r.Stage, stagedFileTo),
	}
	if r.Array != (api.Array{}) {
		t.Array = arrayTo(r.Array)
	}
	if user := (User{r.User, r.UserGroup, r.Priority}); user != (User{}) {
		t.User = userTo(user)
	}
	if r.Description != "" {
		t.Description = &r.Description
	}
	if r.EstimateSet || r.Estimate != 0 {
		nanos := int64(r.Estimate)
		t.EstimateNanos = &nanos
	}
	if r.AvgMillis != 0 {
		t.AvgTasksExecDuration = &r.AvgMillis
	}
	specs := make([]published.TTaskSpec, len(r.Tasks))
	for i := range r.Tasks {
		p := &r.Tasks[i].Payload
		specs[i] = published.TTaskSpec{
			TaskId: r.Tasks[i].ID, Message: p.Message, IsHT: r.HT, SleepNanos: int64(p.Sleep), Process: optionalTo(p.Exec, execTo),
		}
		t.Tasks[i] = &specs[i]
	}
	return t
}

// RequestBytes returns how large a message the submission of a job is, to a few bytes; shared: to
// a frontend that knows the process that tasks share.
func RequestBytes(r *api.Request, shared bool) (int64, error) {
	var n counter
	out := thrift.NewStreamTransportW(&n)
	t := requestTo(r)
	if shared && len(r.Tasks) > 0 {
		share(t, r)
	}
	if err := t.Write(context.Background(), thrift.NewTBinaryProtocolConf(out, nil)); err != nil {
		return 0, fmt.Errorf("its size is not known: %w", err)
	}
	return int64(n), nil
}

// counter counts the bytes that are written to it.
type counter int64

// Write implements [io.Writer].
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// User is the submitter of a job, as the application gives it and its backends receive it.
type User struct {
	Name, Group string
	Priority    int32
}

func userTo(u User) *published.TUserGroupInfo {
	return &published.TUserGroupInfo{User: u.Name, Group: u.Group, Priority: u.Priority}
}

func userFrom(t *published.TUserGroupInfo) User {
	if t == nil {
		return User{}
	}
	return User{Name: t.User, Group: t.Group, Priority: t.Priority}
}
