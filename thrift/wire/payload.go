package wire

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/launchsecret"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

func taskNumber(n int) string { return strconv.Itoa(n) }

func extraTo(e *Extra, t *peer.TMessage) (err error) {
	t.JobName, t.User, t.FrontendAddress, t.SchedulerAddress = e.JobName, e.User, e.FrontendAddress, e.SchedulerAddress
	t.TaskIds, t.Trace, t.Tail = e.TaskIDs, traceTo(e.Trace), e.Tail
	t.Contended, t.UserGroup, t.UserPriority = e.Contended, e.UserGroup, e.UserPriority
	t.ElapsedNanos, t.ExitStatus, t.ResultNumber = int64(e.Elapsed), n32(e.Exit), e.ResultNumber
	t.SuspendedNanos = int64(e.Suspended)
	t.StartedNanos, t.FinishedNanos = unixNanos(e.Started), unixNanos(e.Finished)
	t.MaxDisconnectNanos, t.Code = int64(e.MaxDisconnect), e.Code
	t.Secret, t.ReportKeyHi, t.ReportKeyLo = e.Secret, bits(e.ReportKey.Hi), bits(e.ReportKey.Lo)
	t.Payloads, err = payloadsTo(e.Payloads)
	return err
}

func extraFrom(t *peer.TMessage, e *Extra) (err error) {
	e.JobName, e.User, e.FrontendAddress, e.SchedulerAddress = t.JobName, t.User, t.FrontendAddress, t.SchedulerAddress
	e.TaskIDs, e.Trace, e.Tail = t.TaskIds, traceFrom(t.Trace), t.Tail
	e.Contended, e.UserGroup, e.UserPriority = t.Contended, t.UserGroup, t.UserPriority
	e.Elapsed, e.Exit, e.ResultNumber = time.Duration(t.ElapsedNanos), int(t.ExitStatus), t.ResultNumber
	e.Suspended = time.Duration(t.SuspendedNanos)
	e.Started, e.Finished = fromUnixNanos(t.StartedNanos), fromUnixNanos(t.FinishedNanos)
	e.MaxDisconnect, e.Code = time.Duration(t.MaxDisconnectNanos), t.Code
	e.Secret, e.ReportKey = t.Secret, launchsecret.JobKey{Hi: unbits(t.ReportKeyHi), Lo: unbits(t.ReportKeyLo)}
	e.Payloads, err = payloadsFrom(t.Payloads)
	return err
}

func traceTo(t api.Trace) *published.TTraceContext {
	if t == (api.Trace{}) {
		return nil
	}
	return &published.TTraceContext{Traceparent: t.Traceparent, Tracestate: t.Tracestate}
}

func traceFrom(t *published.TTraceContext) api.Trace {
	if t == nil {
		return api.Trace{}
	}
	return api.Trace{Traceparent: t.Traceparent, Tracestate: t.Tracestate}
}

// backends in the order of their numbers on the wire.
var backends = [...]api.Backend{api.BackendApp, api.BackendSleep, api.BackendExec}

// payloadsTo sends equal payloads once.
func payloadsTo(list []api.Payload) ([]*peer.TPayload, error) {
	if len(list) > 1 && allEqual(list) {
		list = list[:1]
	}
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]*peer.TPayload, len(list))
	for i := range list {
		p := &list[i]
		n := slices.Index(backends[:], p.Backend)
		if n < 0 {
			return nil, fmt.Errorf("its payload is for a backend %q, which has no number on the wire", p.Backend)
		}
		out[i] = &peer.TPayload{
			Backend: int8(n), Message: p.Message, SleepNanos: int64(p.Sleep), Process: optionalTo(p.Exec, execTo), // below 3
			Submitter: p.Submitter, Limits: limitsTo(p.Limits), Array: optionalTo(p.Array, arrayTo),
		}
		stageTo(p, out[i])
	}
	return out, nil
}

func payloadsFrom(list []*peer.TPayload) ([]api.Payload, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]api.Payload, len(list))
	for i, t := range list {
		if t.Backend < 0 || int(t.Backend) >= len(backends) {
			return nil, fmt.Errorf("its payload is for backend %d, which is not known here", t.Backend)
		}
		p := api.Payload{
			Backend: backends[t.Backend], Message: t.Message, Sleep: time.Duration(t.SleepNanos), Exec: optionalFrom(t.Process, execFrom),
			Submitter: t.Submitter, Limits: limitsFrom(t.Limits), Array: optionalFrom(t.Array, arrayFrom), Stage: mapped(t.Stage, stagedFileFrom),
		}
		if len(p.Stage) > 0 {
			p.Exec = optionalFrom(t.StagedProcess, execFrom)
		}
		if p.Backend == api.BackendExec && (p.Exec == nil || len(p.Exec.Argv) == 0) {
			return nil, errors.New("its payload names no program")
		}
		if i > 0 { // of a job, and much the same
			if last := &out[i-1]; p.Exec != nil && last.Exec != nil {
				p.Exec.ShareWith(last.Exec)
				if slices.Equal(p.Stage, last.Stage) {
					p.Stage = last.Stage
				}
			}
		}
		out[i] = p
	}
	return out, nil
}

// unstaged is the program of a process with staged files, for daemons that know none: it exists
// nowhere, so that such a node fails the task, and the reason says what to do.
const unstaged = "(none: the node monitor is of a version without staged files; upgrade it)"

// stageTo adds the staged files of a payload, and hides its process from who does not know them.
func stageTo(p *api.Payload, t *peer.TPayload) {
	if len(p.Stage) == 0 || p.Exec == nil {
		return
	}
	t.Stage = mapped(p.Stage, stagedFileTo)
	t.StagedProcess, t.Process = t.Process, &published.TExec{Argv: []string{unstaged}}
}

// limitsTo returns nil for a task without limits, which then takes no room.
func limitsTo(l *api.Limits) *peer.TLimits {
	if l == nil || *l == (api.Limits{}) {
		return nil
	}
	return &peer.TLimits{MemoryBytes: l.Memory, Cpus: l.CPUs, TimeNanos: int64(l.Time)}
}

func limitsFrom(t *peer.TLimits) *api.Limits {
	if t == nil {
		return nil
	}
	return &api.Limits{Memory: t.MemoryBytes, CPUs: t.Cpus, Time: time.Duration(t.TimeNanos)}
}

func allEqual(list []api.Payload) bool {
	for i := 1; i < len(list); i++ {
		if !list[0].Equal(&list[i]) {
			return false
		}
	}
	return true
}
