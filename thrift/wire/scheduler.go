package wire

import (
	"context"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// Submission is the port that changes jobs. Errors are *api.Error here and in all ports.
type Submission interface {
	// Submit accepts a job durably and returns its id; duplicate means that its key
	// was known and no new job was accepted.
	Submit(ctx context.Context, r *api.Request) (id string, duplicate bool, err error)
	Cancel(ctx context.Context, job string) (api.Status, error)
	// TaskInput gives a piece of standard input to the task of a job.
	TaskInput(ctx context.Context, r InputRequest) (InputReply, error)
}

// Jobs is the port that reads the state of jobs.
type Jobs interface {
	Status(ctx context.Context, job string) (api.Status, error)
	// Query returns a page of the jobs that match the filter, the newest first: at most limit
	// and at most MaxPage, or a number of the frontend's own when limit is 0. after is the
	// last job of the page before, "" for the newest.
	Query(ctx context.Context, limit int, after string, filter api.JobFilter) ([]api.Status, error)
	// Wait answers when the job has ended or the time is up.
	Wait(ctx context.Context, job string, timeout time.Duration) (api.Status, error)
	Explain(ctx context.Context, job string) (*api.Explanation, error)
	TaskLog(ctx context.Context, r LogRequest) (LogChunk, error)
	// History returns jobs that ended, or sums over them.
	History(ctx context.Context, q api.HistoryQuery) (api.HistoryPage, error)
	// Events returns what happened; with a wait, when something did or the time is up.
	Events(ctx context.Context, q api.EventQuery) (api.EventPage, error)
}

// Cluster is the port for the machines: their state, and drains.
type Cluster interface {
	// Nodes returns every group that can be reached, each with its nodes.
	Nodes(ctx context.Context) ([]api.MasterState, error)
	// ForgetNode stops showing a node or frontend that is lost or stopped, and returns the
	// groups that did show it. The error says that it is up, or that no group knows it.
	ForgetNode(ctx context.Context, name string) (groups []int32, err error)
	// Shares returns how every group's slots are shared between owners, and the quotas of
	// the frontend.
	Shares(ctx context.Context) (api.OwnerShares, error)
	// Identify returns which frontend answers.
	Identify(ctx context.Context) (api.FrontendIdentity, error)
	// DrainNode makes a node take nothing new; repeated, it changes the deadline.
	DrainNode(ctx context.Context, node string, o api.DrainOrder) (api.NodeDrain, error)
	// ResumeNode ends the drain of a node. It is an error when the node is not drained.
	ResumeNode(ctx context.Context, node string) (api.NodeDrain, error)
}

// Applications is the port that published clients need in addition to submission.
type Applications interface {
	// RegisterFrontend stores where an application serves FrontendService. The
	// address is as [ParseAddress] returns it. A repetition is no error.
	RegisterFrontend(ctx context.Context, app, address string) error
	MessageRelay
}

// MessageRelay passes a backend's messages to its application.
type MessageRelay interface {
	FrontendMessage(ctx context.Context, app string, task TaskRef, status int32, message []byte) error
}

// Scheduler is the port that a frontend offers to applications and to the command
// line.
type Scheduler interface {
	Submission
	StagedFiles
	Jobs
	Cluster
	Applications
}

// What a request for a part of a task's output names besides "stdout" and "stderr".
const (
	FileList   = "files" // the files in its working folder, an [api.TaskFile] a line
	FilePrefix = "file:" // before the path of one of them
)

// LogRequest requests a part of a task's output.
type LogRequest struct {
	Job     string
	Task    int
	Attempt int    // 0: the latest
	Stream  string // "stdout", "stderr", FileList, or FilePrefix and a path
	Offset  int64
	Limit   int // bytes
}

// LogChunk is a part of a task's output.
type LogChunk struct {
	Data    []byte
	Size    int64  // bytes up to the last one that is kept
	Ended   bool   // no more will come
	Missing int64  // bytes from the offset on that are not kept; the kept output continues after them
	Why     string // they are not kept
	Attempt int    // whose output it is; 0 from a node of an earlier version
}

// SchedulerProcessor serves SchedulerService, the published methods and ours.
func SchedulerProcessor(s Scheduler) thrift.TProcessor {
	return published.NewSchedulerServiceProcessor(schedulerHandler{s})
}

type schedulerHandler struct{ Scheduler }

// RegisterFrontend has no exception to declare: a refusal becomes the library's
// own, with the whole text.
func (h schedulerHandler) RegisterFrontend(ctx context.Context, app, socketAddress string) (bool, error) {
	address, err := ParseAddress(socketAddress)
	if err == nil {
		err = h.Scheduler.RegisterFrontend(ctx, app, address)
	}
	return err == nil, bounded(err)
}

func (h schedulerHandler) SubmitJob(ctx context.Context, req *published.TSchedulingRequest) error {
	if req == nil || len(req.Tasks) == 0 {
		return nil // a ping
	}
	ctx, cancel := whileWaiting(ctx, req)
	defer cancel()
	_, _, err := h.Scheduler.Submit(ctx, requestFrom(req))
	noteDenial(ctx, err)
	return incomplete(err)
}

func (h schedulerHandler) SendFrontendMessage(ctx context.Context, app string, task *published.TFullTaskId, status int32, message []byte) error {
	return bounded(h.FrontendMessage(ctx, app, taskRefFrom(task), status, message))
}

func (h schedulerHandler) RelayMessage(ctx context.Context, app string, task *published.TFullTaskId, status int32, message []byte) error {
	return refusal(h.FrontendMessage(ctx, app, taskRefFrom(task), status, message))
}

func (h schedulerHandler) Submit(ctx context.Context, req *published.TSchedulingRequest) (*published.TSubmitReply, error) {
	ctx, cancel := whileWaiting(ctx, req)
	defer cancel()
	id, duplicate, err := h.Scheduler.Submit(ctx, requestFrom(req))
	return &published.TSubmitReply{JobId: id, Duplicate: duplicate}, refusal(err)
}

func (h schedulerHandler) ListJobs(ctx context.Context, limit int32, after string, filter *published.TJobFilter) ([]*published.TJobStatus, error) {
	list, err := h.Query(ctx, int(max(limit, 0)), after, jobFilterFrom(filter))
	return mapped(list, statusTo), refusal(err)
}

// whileWaiting ends the context when the caller will have stopped waiting.
func whileWaiting(ctx context.Context, req *published.TSchedulingRequest) (context.Context, context.CancelFunc) {
	if req == nil || req.DeadlineNanos <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(req.DeadlineNanos))
}
