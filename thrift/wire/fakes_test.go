package wire_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// record records the calls of a port, one line each, and fails on demand.
type record struct {
	mu    sync.Mutex
	lines []string
	err   error
}

func (r *record) note(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
	return r.err
}

// calls returns the calls since the last time.
func (r *record) calls() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

func (r *record) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// fakeScheduler answers every call with values in which every field is set.
type fakeScheduler struct {
	record
	request *api.Request
	until   time.Duration // the deadline of the last Submit, from now
}

func (s *fakeScheduler) Submit(ctx context.Context, r *api.Request) (string, bool, error) {
	s.request, s.until = r, 0
	if d, ok := ctx.Deadline(); ok {
		s.until = time.Until(d)
	}
	line := fmt.Sprintf("submit app=%q user=%q description=%q avg=%v ht=%v", r.App, r.User, r.Description, r.AvgMillis, r.HT)
	if r.UserGroup != "" || r.Priority != 0 {
		line += fmt.Sprintf(" group=%q priority=%d", r.UserGroup, r.Priority)
	}
	for _, t := range r.Tasks {
		line += fmt.Sprintf(" %q:%q", t.ID, t.Payload.Message)
	}
	return "id-1", true, s.note("%s", line)
}

func (s *fakeScheduler) Cancel(_ context.Context, job string) (api.Status, error) {
	return filled[api.Status](), s.note("cancel %s", job)
}

func (s *fakeScheduler) Status(_ context.Context, job string) (api.Status, error) {
	return filled[api.Status](), s.note("status %s", job)
}

func (s *fakeScheduler) Query(_ context.Context, limit int, after string, filter api.JobFilter) ([]api.Status, error) {
	return filled[[]api.Status](), s.note("list %d after %q %v", limit, after, reflect.DeepEqual(filter, filled[api.JobFilter]()))
}

func (s *fakeScheduler) Wait(_ context.Context, job string, timeout time.Duration) (api.Status, error) {
	return filled[api.Status](), s.note("wait %s %v", job, timeout)
}

func (s *fakeScheduler) Identify(context.Context) (api.FrontendIdentity, error) {
	return filled[api.FrontendIdentity](), s.note("identify")
}

func (s *fakeScheduler) Explain(_ context.Context, job string) (*api.Explanation, error) {
	return filled[*api.Explanation](), s.note("explain %s", job)
}

func (s *fakeScheduler) TaskInput(_ context.Context, r wire.InputRequest) (wire.InputReply, error) {
	return filled[wire.InputReply](), s.note("input %+v", r)
}

func (s *fakeScheduler) StageFiles(_ context.Context, files []api.StagedFile) ([]int64, error) {
	return []int64{int64(len(files)), 3}, s.note("stage %+v", files)
}

func (s *fakeScheduler) StagePiece(_ context.Context, sha256 string, offset int64, data []byte) (int64, error) {
	return offset + int64(len(data)), s.note("piece of %s at %d: %q", sha256, offset, data)
}

func (s *fakeScheduler) TaskLog(_ context.Context, r wire.LogRequest) (wire.LogChunk, error) {
	return filled[wire.LogChunk](), s.note("log %+v", r)
}

func (s *fakeScheduler) History(_ context.Context, q api.HistoryQuery) (api.HistoryPage, error) {
	return filled[api.HistoryPage](), s.note("history %+v", q)
}

func (s *fakeScheduler) Events(_ context.Context, q api.EventQuery) (api.EventPage, error) {
	return filled[api.EventPage](), s.note("events %+v", q)
}

func (s *fakeScheduler) ForgetNode(_ context.Context, name string) ([]int32, error) {
	return []int32{0, 3}, s.note("forget %s", name)
}

func (s *fakeScheduler) Shares(context.Context) (api.OwnerShares, error) {
	return filled[api.OwnerShares](), s.note("shares")
}

func (s *fakeScheduler) DrainNode(_ context.Context, node string, o api.DrainOrder) (api.NodeDrain, error) {
	return filled[api.NodeDrain](), s.note("drain %s %+v", node, o)
}

func (s *fakeScheduler) ResumeNode(_ context.Context, node string) (api.NodeDrain, error) {
	return filled[api.NodeDrain](), s.note("resume %s", node)
}

func (s *fakeScheduler) Nodes(context.Context) ([]api.MasterState, error) {
	return filled[[]api.MasterState](), s.note("nodes")
}

func (s *fakeScheduler) RegisterFrontend(_ context.Context, app, address string) error {
	return s.note("register %s at %s", app, address)
}

func (s *fakeScheduler) FrontendMessage(_ context.Context, app string, task wire.TaskRef, status int32, message []byte) error {
	return s.note("message app=%q %+v status=%d %q", app, task, status, message)
}

// fakeBackends is a node monitor's registry.
type fakeBackends struct{ record }

func (b *fakeBackends) Register(_ context.Context, app, address string, kind wire.BackendKind) error {
	return b.note("register %s at %s kind %d", app, address, kind)
}

func (b *fakeBackends) TasksFinished(_ context.Context, tasks []wire.TaskRef, worker string) error {
	return b.note("finished %+v by %q", tasks, worker)
}

func (b *fakeBackends) FrontendMessage(_ context.Context, app string, task wire.TaskRef, status int32, message []byte) error {
	return b.note("message app=%q %+v status=%d %q", app, task, status, message)
}

// fakePeer is a daemon of every role at once.
type fakePeer struct {
	record
	batch    *wire.Batch
	hello    *wire.Hello
	snapshot *wire.Snapshot
}

func (p *fakePeer) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	p.batch = b
	return filled[wire.BatchReply](), p.note("deliver")
}

func (p *fakePeer) Reports(_ context.Context, b *wire.Batch) (wire.ReportsReply, error) {
	p.batch = b
	return filled[wire.ReportsReply](), p.note("reports")
}

func (p *fakePeer) Hello(_ context.Context, h *wire.Hello) (wire.HelloReply, error) {
	p.hello = h
	return filled[wire.HelloReply](), p.note("hello")
}

func (p *fakePeer) Snapshot(_ context.Context, s *wire.Snapshot) (wire.SnapshotReply, error) {
	p.snapshot = s
	return filled[wire.SnapshotReply](), p.note("snapshot")
}

func (p *fakePeer) RunningTasks(_ context.Context, jobs []sched.JobID) ([]int32, error) {
	return make([]int32, len(jobs)), p.note("running %v", jobs)
}

func (p *fakePeer) RunningAttempts(_ context.Context, job sched.JobID, task int32) ([]api.TaskStatus, error) {
	return []api.TaskStatus{filled[api.TaskStatus]()}, p.note("attempts %v %d", job, task)
}

func (p *fakePeer) RunningJobs(_ context.Context, frontend string) (wire.RunningJobs, error) {
	return filled[wire.RunningJobs](), p.note("jobs of %s", frontend)
}

func (p *fakePeer) JobView(_ context.Context, job sched.JobID, app string) (wire.JobView, error) {
	return filled[wire.JobView](), p.note("view %v %s", job, app)
}

func (p *fakePeer) MasterState(context.Context) (api.MasterState, error) {
	return filled[api.MasterState](), p.note("state")
}

func (p *fakePeer) ForgetNode(_ context.Context, name string) (bool, error) {
	return true, p.note("forget %s", name)
}

func (p *fakePeer) GroupOwners(context.Context) (api.GroupOwners, error) {
	return filled[api.GroupOwners](), p.note("owners")
}

func (p *fakePeer) AttemptInput(_ context.Context, id sched.AttemptID, piece wire.Input) (wire.InputReply, error) {
	return filled[wire.InputReply](), p.note("input %v %+v", id, piece)
}

func (p *fakePeer) AttemptLog(_ context.Context, r wire.AttemptLogRequest) (wire.LogChunk, error) {
	return filled[wire.LogChunk](), p.note("log %+v", r)
}

func (p *fakePeer) Drain(_ context.Context, o wire.DrainOrder) (wire.DrainReply, error) {
	return filled[wire.DrainReply](), p.note("drain %+v", o)
}
