package sched

// Kind is the subject of a [Message] and decides which of its fields count.
type Kind uint8

// The kinds, by sender and receiver. "Shell" is the daemon or simulator
// around the receiving core. Fields not named are zero.
const (
	KindNone Kind = iota

	// Shell to distributor.

	// Submit: a job arrived. Job, Key, App, Class, Estimate, Count, Retries, MaxDisconnect, Marks,
	// Owner, Priority, Slots, Gang, Attempt (the number of its tasks' first attempts, 0: 1). Resent marks a job read
	// back from the journal: it is placed only after the Restored that ends the reading.
	Submit
	// Cancel: the application no longer wants the job, or, with a Count, that many
	// of its unfinished tasks, the last ones. Job, Count, Reason.
	Cancel
	// MasterUp: a master was reached, for the first time or in a new
	// incarnation. Peer, Serves. Tasks that were sent to an earlier one are sent again.
	// Masters receive it too where tasks move between groups (Policy.CrossGroup).
	MasterUp
	// MasterLost: a group was without a master for too long. Peer.
	MasterLost
	// Restored: the journal has been read.
	Restored

	// Records: a distributor's Persist carries one, and its shell returns them
	// in order, after the Submit of their job, when it reads the journal.

	// Placed: tasks were sent to a group. Job, First, Count, Attempt, Peer, Marks
	// (Moved alone counts).
	Placed
	// NewAttempt: a task must be tried again, or each of Count tasks (0: one). Job,
	// First, Count, Attempt, Losses, Outcome (of the attempt before: Lost, Failed or
	// Yielded), Reason, Node (where it was lost; "" when that does not count), Marks (Apart alone).
	NewAttempt
	// TaskEnded: the result of a task was accepted. Job, First, Attempt,
	// Outcome, Reason.
	TaskEnded
	// JobEnded: nothing more will happen to the job. Job, Outcome, Reason.
	JobEnded

	// Distributor to master.

	// Tasks: First..First+Count-1 of a job to run. Job, Class, Estimate,
	// App, Arrival, Attempt, First, Count, Total, Marks, Owner, Priority, Slots, Gang. Head puts them before
	// everything else of their class; with Resent an earlier incarnation may have
	// launched them already. Peer is the master that the task comes from, when it
	// moves to a spare worker.
	Tasks
	// Drop: those tasks are no longer wanted; forget queued ones, kill running
	// ones. Job, First, Count (Count 0: all).
	Drop

	// Master to distributor.

	// Serves: the applications for which the group has a live worker. Serves.
	Serves
	// Returned: the group hands back these tasks, which were never launched: no
	// worker of it serves the application, its queue is full (Full), or the group of
	// the master Peer has a spare worker for them. With Resent, an earlier incarnation of
	// the master, or of their distributor, may have launched them, so they need new attempts.
	// Job, First, Count, Attempt.
	Returned
	// AttemptLost: the worker of an attempt is lost. Job, First, Attempt, Node, Reason,
	// Outcome (Yielded: the node stopped in order, and no loss is counted).
	AttemptLost
	// Holding: a worker registered while it runs this attempt, or the master has these
	// tasks queued or running for a frontend that registered as a new process (DistributorUp); a
	// distributor that no longer wants them answers Drop. Job, First, Count (0: one),
	// Attempt. One without a job ends the answer to DistributorUp.
	Holding

	// Master to worker.

	// Launch: run this task. Job, First, Attempt, Class, App, Distributor, Estimate, Marks (Apart alone),
	// Owner, Seq (the slot's last sequence number known to the master), Epoch, Slots, Gang. The shell of the
	// worker sets Reason to have it refused ([Message.Deny]). A task of several slots has a Launch to each, all of
	// one node: the Companions first, the slot that leads last. The backend runs it once, for the lead; its end is
	// an Ended to every slot that holds the attempt.
	Launch
	// Kill: stop this attempt. Job, First, Attempt, Epoch.
	Kill
	// SetReserved: the slot now serves short tasks only (Reserved) or both
	// classes. Reserved, Epoch, Seq (counts them within the epoch; an older one is
	// ignored).
	SetReserved

	// Worker to master.

	// Idle: the slot is free since its sequence number Seq. Where tasks are
	// suspended: Job, First, Attempt (the task that ended, or cannot be continued),
	// Kept (the tasks suspended there).
	Idle
	// Refused: the launch was not accepted; nothing of it runs. An Idle follows
	// as soon as the slot is free. Job, First,
	// Attempt, Seq (the slot's), Reason.
	Refused

	// Worker to distributor.

	// Report: an attempt ended. Job, First, Attempt, Outcome, Reason, Losses (when it was lost
	// with its guard: how many attempts were, this one included). The shell of the
	// distributor adds the Node to outcomes that are no result.
	Report

	// Shell to master.

	// WorkerUp: a slot registered. Peer, Node, Serves, Seq, Reserved, Fixed (the
	// slot's kind was chosen by its application), and, when it runs something, Job,
	// First, Attempt, Distributor, Class, App, Estimate, Owner, Slots, Gang, Companion, and how long it has run so far
	// in More.Slots, if that is known. The lead of an attempt registers before its companions. Kept lists attempts that ended there
	// and are not acknowledged yet. It comes again, right after that and with the
	// same Peer, for each attempt that the slot holds besides the one that runs.
	WorkerUp
	// WorkerLost: a slot is lost. Peer, Reason, Outcome (Yielded: its node gave it back
	// in order), Kept (attempts that are not lost with it: the next process of the node has
	// taken them over).
	WorkerLost
	// WorkerServes: the applications a slot serves changed. Peer, Serves. Full: its node
	// drains, so that it takes nothing new and ends what it has.
	WorkerServes
	// EpochIs: the epoch this master works under. Epoch.
	EpochIs

	// Shell to worker.

	// Ended: the backend finished the attempt. Job, First, Attempt, Outcome,
	// Reason.
	Ended

	// Shell to any.

	// Timeout: a timer that the core requested is due. Token.
	Timeout

	// Messages of the published rivals; docs/cores.md lists them by policy.

	// Members (shell to distributor and worker): the live workers of the cluster
	// in order of their numbers, again whenever they change. More.Members. To a
	// distributor, Resent means that workers may have dropped its reservations.
	Members
	// Probe (distributor to worker): a reservation for a job. Job, Class,
	// Estimate, App, Distributor, Arrival, Count (its tasks not launched yet), Attempt
	// (how often it was sent; eagle), More. One that comes twice is one more
	// reservation, which costs a NoTask.
	Probe
	// CancelProbe (distributor to worker): the job has no task left to bind. Job.
	CancelProbe
	// ProbeRejected (worker to distributor): the worker will not queue it. Job,
	// Attempt (as in the Probe), More.Bits, More.Stamp.
	ProbeRejected
	// GetTask (worker to distributor): the reservation is at the head of a free
	// worker. Job, Seq. Answered by NoTask, or by Launch with Count, the job's
	// tasks not launched yet; Seq comes back in both, and an answer to an earlier
	// request is ignored or, a Launch, Refused.
	GetTask
	// NoTask (distributor to worker): no task is left. Job, Seq, More.
	NoTask
	// Started (worker to master): the task of a Launch that waited in the worker's
	// queue began. Job, First, Attempt. Its end is an Idle with the same fields.
	Started
	// Steal (worker to worker): an idle worker requests reservations. Class.
	Steal
	// Stolen (worker to worker): the answer, perhaps empty. More.Probes.
	Stolen
	// Rotated (worker to its successor in the ring): reservations that move on.
	// Seq (its tick), Arrival (the instant of that tick), More.Probes, More.Load.
	// The successor answers with the same Seq and without More, that it has them.
	Rotated
	// LoadShare (distributor to distributor): the sender's part of the shared
	// state, all of it. More.Load.
	LoadShare
	// Beat (worker to master): a node's heartbeat. More.Slots.
	Beat

	// Messages between masters, where tasks move between groups.

	// Spare (master to master): a worker is idle and nothing is queued. Serves,
	// Reserved (it accepts short tasks only). It is never withdrawn, and not repeated
	// before a task came for it; one that is out of date costs a move: the task returns
	// to its distributor (Returned, with Peer), which sends it to the group of the
	// spare worker.
	Spare

	// Messages from masters to workers, where tasks are suspended.

	// Preempt (master to worker): suspend the attempt that Kept names, if it has
	// not ended, and run this task. As Launch; Seq is that of the launch of what
	// must be suspended.
	Preempt
	// Continue (master to worker): continue the suspended attempt. Job, First,
	// Attempt, Seq, Epoch.
	Continue
	// Yield (master to worker): stop this attempt; the task is started again elsewhere.
	// As Kill. Its Report has the outcome Yielded, which counts as no loss.
	Yield

	// Reclass: a job is of another class than was declared. Job, Class. A master sends
	// it to the distributor when a task showed it, and the distributor to every
	// master that holds tasks of the job, which moves the waiting ones to the tail of
	// the queue of that class. As a record: the class has changed.
	Reclass

	// Messages that report which daemon holds which tasks after a restart.

	// DistributorUp (shell to master): a frontend registered as a new process. Distributor. It is
	// answered by Holding for all tasks that the master holds for that distributor.
	DistributorUp
	// Held (worker or shell to distributor): the distributor's attempts that the worker
	// runs, has queued, or keeps the result of. Kept. From the shell, Peer is the worker,
	// or zero for attempts that no worker has any more.
	Held
	// ResultsKept (shell to master): results of a worker that are not acknowledged yet
	// some seconds after their end. Peer, Kept.
	ResultsKept

	// NotLost, a record: the loss of a node no longer counts against a task, because the node
	// is alive after all or the loss is too long ago. Job, First, Node.
	NotLost

	// DistributorAway (shell to master): a frontend has been silent for long. Distributor. The master
	// returns the tasks that wait for it, and launches none of them.
	DistributorAway

	// SetShares (shell to master): how workers are shared between owners from now on.
	// More.Shares, More.HalfLife.
	SetShares

	// GangLoad (distributor to master): how loaded is the group, for this gang? Job. The answer is another,
	// with Seq (slots that are busy, or that waiting tasks need) and Total (slots there are).
	GangLoad

	numKinds
)

// Message is everything that a core or the shell around it can send to a core. It
// is one flat struct, as in raft implementations: no allocation on the path of a
// task, one place that translates it to the wire. Its Kind decides which fields
// count.
type Message struct {
	Kind      Kind
	Class     Class
	Outcome   Outcome
	Head      bool  // Tasks: serve before the rest of the class
	Resent    bool  // Tasks, Submit, Returned: may be known already; Members: reservations may have been dropped
	Reserved  bool  // WorkerUp, SetReserved, Spare: short tasks only
	Fixed     bool  // WorkerUp: Reserved was chosen by the slot's application
	Full      bool  // Returned: worth another try later
	Gang      bool  `json:",omitempty"` // Submit, Tasks, Launch: the job's tasks start together or not at all
	Companion bool  `json:",omitempty"` // Launch, WorkerUp: another slot of the node leads the attempt
	Retries   uint8 // Submit: of a task that fails by itself
	Losses    uint8 // NewAttempt: attempts lost so far; Report: lost together
	Marks     Marks // Submit, Tasks, Placed, NewAttempt, Launch

	First   int32 // first task of the range, or the one task
	Count   int32 // tasks in the range; NewAttempt, Holding: 0 is one
	Total   int32 // Tasks: of the whole job, in all groups; 0: not stated
	Attempt int32 // 1 or more

	Job         JobID
	Peer        Addr   // the subject of MasterUp, WorkerUp and the like
	Distributor Addr   `json:"Owner"` // the distributor that receives a task's report
	Key         uint64 // Submit: seeds the job's draws
	Seq         uint64 // slot sequence number
	Epoch       uint64 // incarnation of the sending master
	Token       uint64 // Timeout: the argument of Timer
	Estimate    Time   // of one task of the job
	Arrival     Time   // of the job at its distributor, in the receiver's time

	App    string      // application whose backend is needed; "" for built-in ones
	Node   string      // WorkerUp, AttemptLost, NewAttempt, Report: the node's id
	Reason string      // in words a user can read
	Serves []string    // applications served, "" for the built-in backends; sorted
	Kept   []AttemptID // WorkerUp, ResultsKept: ended there; WorkerLost: taken over; Idle: suspended there; Preempt: to be suspended; Held: held there

	Owner      string `json:"For,omitempty"` // the owner of the job: a path such as "team/alice", "" for none in particular
	Priority   int32  // of the job among those of its owner: higher ones are served first
	MaxRunning int32  `json:",omitempty"` // Submit: at most this many of the job's tasks are given to groups or workers at a time; 0: no limit
	Slots      int32  `json:",omitempty"` // Submit, Tasks, Launch: slots of one node that each task of the job takes; 0: one

	MaxDisconnect Time // Submit: nodes that are cut off for this long stop its tasks; 0: never

	More *More // sent by some policies only, else nil; shared and never changed
}

// NumKinds is one above the highest kind, for tables and round-trip tests.
const NumKinds = int(numKinds)

// AttemptID returns the attempt that a one-task message names.
func (m *Message) AttemptID() AttemptID {
	return AttemptID{Job: m.Job, Task: m.First, Attempt: m.Attempt}
}

// MaxTasks is how many tasks a job can have.
const MaxTasks = 100_000

// MaxSlots is how many slots a task can take.
const MaxSlots = 4096

// Valid reports whether the numbers in the message are in the ranges that tables are
// made for. The edge refuses one that is not, with a reason; a core ignores it, so
// that no message can make it panic or grow without bound.
func (m *Message) Valid() bool {
	return m.Class < NumClasses && m.Marks&^AllMarks == 0 &&
		m.First >= 0 && m.Count >= 0 && m.Count <= MaxTasks-m.First &&
		m.Total >= 0 && m.Total <= MaxTasks && m.Attempt >= 0 && m.Slots >= 0 && m.Slots <= MaxSlots && m.Peer.ID >= 0 && m.Peer.ID <= MaxID &&
		(m.More == nil || m.More.valid())
}

// Tasks returns how many tasks the message carries, for counting messages as
// the papers do: a batch of k tasks counts k.
func (m *Message) Tasks() int {
	if m.Kind == Tasks || m.Kind == Returned {
		return int(m.Count)
	}
	return 1
}
