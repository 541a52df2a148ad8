package wire

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/launchsecret"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// MaxBatchBytes bounds one batch on the wire. [Cut] keeps below it; a single
// task with its payload (api.MaxPayload) always fits.
const MaxBatchBytes = 4 << 20

// Sender is a daemon as the receivers of its batches know it.
type Sender struct {
	Ref         Ref
	Address     string // where it serves other daemons, host:port
	Incarnation int64  // of its process
}

// Batch puts items into a batch, which has no sequence number.
func (s *Sender) Batch(to Ref, items []Item) *Batch {
	return &Batch{Sender: s.Ref, Receiver: to.Daemon(), Address: s.Address, Incarnation: s.Incarnation, Items: items}
}

// Batch is an envelope: messages of one daemon to one daemon, in order.
type Batch struct {
	Sender   Ref    // the daemon; its slot does not count
	Receiver Ref    // likewise
	Address  string // where the sender serves other daemons, host:port

	Incarnation int64  // of the sender's process
	Epoch       uint64 // of a sending master; 0 from others
	Sequence    uint64 // counts the batches of this incarnation to this receiver, from 1

	// ReceiverIncarnation is the process of the receiver that the batch is meant for, 0 for
	// whichever serves there.
	ReceiverIncarnation int64

	Items []Item
	// Acknowledged are reports that the sender, a frontend, has journaled.
	Acknowledged []sched.AttemptID
	// ResultNumbers are the numbers of those reports, in the same order; none from a
	// frontend of an earlier version.
	ResultNumbers []int64

	// UnknownKinds are the numbers of kinds of messages that this version does not know, each
	// once, in a batch that was received. Their messages are not among the items.
	UnknownKinds []int8
}

// Item is one message of a batch.
type Item struct {
	From Ref // the batch's sender, with its slot
	To   Ref // the batch's receiver, with its slot
	Msg  sched.Message
	Extra
}

// Extra is the data that daemons carry with a message and no core reads.
type Extra struct {
	JobName          string // the job's id as its user sees it
	User             string // its submitter
	UserGroup        string // of the user, as the application gave it; passed to backends
	UserPriority     int32  // likewise
	FrontendAddress  string // where the owner serves other daemons, host:port
	SchedulerAddress string // where it serves applications; passed to backends

	// Payloads has one entry for each task of the range, or one for all of them, or
	// none. Payload returns that of one task.
	Payloads []api.Payload
	// TaskIDs are the application's names of the tasks of the range; none when
	// they are their decimal numbers. TaskID returns that of one task.
	TaskIDs []string
	Trace   api.Trace
	// Contended marks a launch while tasks of other applications wait that are as
	// urgent: its slot must not be kept from one piece of work to the next.
	Contended bool
	// MaxDisconnect is how long the node may be cut off from its master before it
	// stops the attempt; 0 for no limit.
	MaxDisconnect time.Duration
	// Secret is that of the attempt, of a launch and of a report; 0 for none. ReportKey is the
	// key from which a master computes those of a job; zero except with tasks.
	Secret    int64
	ReportKey launchsecret.JobKey

	// For a report.
	Elapsed   time.Duration // by the node's monotonic clock
	Suspended time.Duration // for how much of that it was suspended
	Started   time.Time     // by the node's wall clock, to be shown only
	Finished  time.Time
	Tail      []byte // the end of a failed process's stderr
	Exit      int    // status of a process, 128 + n after signal n
	Code      string // why it failed, for programs: one of the codes of package api, "" for none
	// ResultNumber is the number of the result among those of the node's process; its
	// acknowledgement repeats it. 0 from a node of an earlier version.
	ResultNumber int64
}

// Payload returns the payload of the i-th task of the range.
func (e *Extra) Payload(i int) api.Payload {
	switch {
	case len(e.Payloads) == 1:
		return e.Payloads[0]
	case i < len(e.Payloads):
		return e.Payloads[i]
	default:
		return api.Payload{}
	}
}

// TaskID returns the application's name of the i-th task of a range that begins
// with task first.
func (e *Extra) TaskID(first int32, i int) string {
	if i < len(e.TaskIDs) {
		return e.TaskIDs[i]
	}
	return taskNumber(int(first) + i)
}
