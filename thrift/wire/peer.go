package wire

import (
	"context"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// BatchReceiver receives messages for the cores of a daemon.
type BatchReceiver interface {
	Deliver(ctx context.Context, b *Batch) (BatchReply, error)
}

// BatchReply acknowledges the sender's batches.
type BatchReply struct {
	Incarnation int64  // of the receiver's process
	Sequence    uint64 // the highest received without a gap
	Problem     string // why the batch was refused; "" when it was not
	// RefusedKinds are the numbers of kinds of the batch that the receiver does not know.
	// Their messages were left out, and are not to be sent to it again.
	RefusedKinds []int8
}

// ReportReceiver receives repeated reports; a frontend is one.
type ReportReceiver interface {
	Reports(ctx context.Context, b *Batch) (ReportsReply, error)
}

// ReportsReply lists the attempts that need not be reported again.
type ReportsReply struct {
	Incarnation  int64
	Acknowledged []sched.AttemptID
	Unknown      []sched.JobID // jobs unknown here: their reports are to be dropped, their attempts killed
	Sender       string        // name of the frontend that answers; "" from one of an earlier version
}

// Registrar receives registrations and heartbeats; a master is one.
type Registrar interface {
	Hello(ctx context.Context, h *Hello) (HelloReply, error)
	Snapshot(ctx context.Context, s *Snapshot) (SnapshotReply, error)
}

// GroupViewer shows the state of a group; a master is one.
type GroupViewer interface {
	// JobView returns what the group holds of a job; app is the job's application,
	// for a job that it does not hold.
	JobView(ctx context.Context, job sched.JobID, app string) (JobView, error)
	// RunningAttempts returns the attempts of a task that run or are suspended in the group. A
	// JobView does not list those of all tasks.
	RunningAttempts(ctx context.Context, job sched.JobID, task int32) ([]api.TaskStatus, error)
	// RunningTasks returns how many tasks of each of the jobs run in the group, in their
	// order.
	RunningTasks(ctx context.Context, jobs []sched.JobID) ([]int32, error)
	// RunningJobs returns which jobs of the frontend of that name have tasks that run in the
	// group.
	RunningJobs(ctx context.Context, frontend string) (RunningJobs, error)
	MasterState(ctx context.Context) (api.MasterState, error)
	// ForgetNode stops showing a node or frontend that is not registered any more. It reports
	// whether there was one; the error says that the daemon is registered.
	ForgetNode(ctx context.Context, name string) (bool, error)
	// GroupOwners returns how the group's slots are shared between owners.
	GroupOwners(ctx context.Context) (api.GroupOwners, error)
}

// MaxPage bounds the jobs of one page of a list, and those of one call of RunningTasks.
const MaxPage = 1000

// MaxRunningJobs bounds the jobs of one answer of RunningJobs.
const MaxRunningJobs = 10_000

// RunningJobs is some of the jobs whose tasks run in a group.
type RunningJobs struct {
	Jobs []sched.JobID // each once
	More bool          // there are others, because MaxRunningJobs are listed
}

// JobView is a master's state of one job.
type JobView struct {
	Share api.GroupShare
	Tasks []api.TaskStatus // running ones, with their nodes
}

// LogReader returns the output of attempts; a node monitor is one.
type LogReader interface {
	AttemptLog(ctx context.Context, r AttemptLogRequest) (LogChunk, error)
}

// AttemptLogRequest requests a part of an attempt's output from a node.
type AttemptLogRequest struct {
	Attempt sched.AttemptID // Attempt 0: the latest on that node
	Stream  string          // "stdout" or "stderr"
	Offset  int64
	Limit   int // bytes
}

// PeerPorts are the ports that a daemon offers to other daemons. A call to a nil port is
// refused with an error that names the missing port.
type PeerPorts struct {
	Batches    BatchReceiver
	Reports    ReportReceiver
	Inventory  InventoryReceiver
	Registrar  Registrar
	Group      GroupViewer
	Membership MembershipSource
	Logs       LogReader
	Input      InputReceiver
	Executors  ExecutorManager
	Files      FileKeeper
	Drain      DrainReceiver
}

// PeerProcessor serves PeerService.
func PeerProcessor(p PeerPorts, c *Codec) thrift.TProcessor {
	return peer.NewPeerServiceProcessor(peerHandler{p, c})
}

type peerHandler struct {
	ports PeerPorts
	codec *Codec
}

func (h peerHandler) Deliver(ctx context.Context, t *peer.TBatch) (*peer.TBatchReply, error) {
	b, err := h.batch(ctx, h.ports.Batches != nil, t)
	if err != nil {
		return nil, refusal(err)
	}
	r, err := h.ports.Batches.Deliver(ctx, b)
	r.RefusedKinds = append(r.RefusedKinds, b.UnknownKinds...)
	return batchReplyTo(r), refusal(err)
}

func (h peerHandler) Reports(ctx context.Context, t *peer.TBatch) (*peer.TReportsReply, error) {
	b, err := h.batch(ctx, h.ports.Reports != nil, t)
	if err != nil {
		return nil, refusal(err)
	}
	r, err := h.ports.Reports.Reports(ctx, b)
	return reportsReplyTo(r), refusal(err)
}

func (h peerHandler) Hello(ctx context.Context, t *peer.THello) (*peer.THelloReply, error) {
	if h.ports.Registrar == nil {
		return nil, refusal(notHere("master"))
	}
	hello, err := readHello(t)
	if err != nil {
		return nil, refusal(err)
	}
	if err := speaks(ctx, hello.Sender, "registering"); err != nil {
		return nil, refusal(err)
	}
	r, err := h.ports.Registrar.Hello(ctx, hello)
	return helloReplyTo(r), refusal(err)
}

func (h peerHandler) Snapshot(ctx context.Context, t *peer.TSnapshot) (*peer.TSnapshotReply, error) {
	if h.ports.Registrar == nil {
		return nil, refusal(notHere("master"))
	}
	s, err := readSnapshot(t)
	if err != nil {
		return nil, refusal(err)
	}
	if err := speaks(ctx, s.Sender, "sending a snapshot"); err != nil {
		return nil, refusal(err)
	}
	r, err := h.ports.Registrar.Snapshot(ctx, s)
	return snapshotReplyTo(r), refusal(err)
}

func (h peerHandler) RunningTasks(ctx context.Context, jobs []*peer.TJobId) ([]int32, error) {
	switch {
	case h.ports.Group == nil:
		return nil, refusal(notHere("master"))
	case len(jobs) > MaxPage:
		return nil, refusal(tooManyJobs(len(jobs)))
	}
	n, err := h.ports.Group.RunningTasks(ctx, mapped(jobs, jobIDFrom))
	return n, refusal(err)
}

// batch reads a batch that came from a peer.
func (h peerHandler) batch(ctx context.Context, served bool, t *peer.TBatch) (*Batch, error) {
	if !served {
		return nil, notHere("receiver of such messages")
	}
	b, err := h.codec.batchFrom(t)
	if err != nil {
		return nil, err
	}
	if err := speaks(ctx, b.Sender, "sending messages"); err != nil {
		return nil, err
	}
	return b, b.CheckPeer()
}

// CheckPeer refuses a batch with messages that only the shell around a core may
// pass to it. Deliver and Reports have called it; a receiver that decodes batches
// from NATS must call it.
func (b *Batch) CheckPeer() error {
	for i := range b.Items {
		if k := b.Items[i].Msg.Kind; !fromPeers(k) {
			return refuseItem(b.Sender, i, len(b.Items), fmt.Errorf("a peer may not send %v", k))
		}
	}
	return nil
}
