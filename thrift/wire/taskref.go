package wire

import (
	"net"
	"strconv"

	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// TaskRef names a task as applications and backends do.
type TaskRef struct {
	Task      string // the application's id of it
	Job       string // the job's id as its user sees it
	App       string
	Scheduler string // the frontend's address for applications, host:port; "" for unknown
	HT        bool   // the published isHT
}

func taskRefTo(r TaskRef) *published.TFullTaskId {
	return &published.TFullTaskId{TaskId: r.Task, RequestId: r.Job, AppId: r.App, SchedulerAddress: hostPortTo(r.Scheduler), IsHT: r.HT}
}

// taskRefFrom reads a task id; a missing one is the zero TaskRef, and an address
// that cannot be read counts as missing.
func taskRefFrom(t *published.TFullTaskId) TaskRef {
	if t == nil {
		return TaskRef{}
	}
	scheduler, err := hostPortFrom(t.SchedulerAddress)
	if err != nil {
		scheduler = ""
	}
	return TaskRef{Task: t.TaskId, Job: t.RequestId, App: t.AppId, Scheduler: scheduler, HT: t.IsHT}
}

func hostPortTo(address string) *published.THostPort {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil
	}
	return &published.THostPort{Host: host, Port: int32(n)} // 16 bits
}

// hostPortFrom returns host:port in the spelling of [ParseAddress], "" for nothing.
func hostPortFrom(t *published.THostPort) (string, error) {
	if t == nil || (t.Host == "" && t.Port == 0) {
		return "", nil
	}
	return JoinAddress(t.Host, int(t.Port))
}
