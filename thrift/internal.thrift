/*
 * The protocol between the daemons: frontends, masters and node monitors.
 * Nothing outside this repository speaks it. docs/wire.md gives the rules by
 * which it may change; those on requiredness are in published.thrift.
 *
 * 64-bit unsigned numbers (sequence numbers, epochs, job ids) travel as i64 with
 * the same bits. An instant never travels as such where clocks would be
 * compared: arrivals travel as ages.
 */
include "published.thrift"
include "application.thrift"

namespace go peer
namespace java org.pigeonsched.thrift.peer

// A job as the cores name it: 128 bits.
struct TJobId {
  1: i64 hi
  2: i64 lo
}

struct TAttempt {
  1: i64 jobHi
  2: i64 jobLo
  3: i32 task
  4: i32 attempt
}

// A core. role: 0 shell, 1 distributor, 2 master, 3 worker. name is the
// daemon's; slot counts for workers.
struct TRef {
  1: optional i8 role = 0
  2: optional string name = ""
  3: optional i32 slot = 0
}

// What one task may use; 0 is no limit of its own. memoryBytes is of all its processes
// together, cpus counts processors, timeNanos is how long it may run, suspensions left out.
struct TLimits {
  1: optional i64 memoryBytes = 0
  2: optional double cpus = 0
  3: optional i64 timeNanos = 0
}

// What a task is to do. backend: 0 a process of the application, 1 sleep, 2 exec.
struct TPayload {
  1: optional i8 backend = 0
  2: optional binary message
  3: optional i64 sleepNanos = 0
  4: optional published.TExec process
  // Who submitted the job, as the frontend has proven it; empty when it has not.
  5: optional string submitter = ""
  6: optional TLimits limits
  7: optional published.TArray array
  // Files that the task finds in its working folder. stagedProcess is what it runs then, in place of
  // process, which names no program that there is: a node that knows no staged files fails the task
  // by that, and does not run it without them.
  8: optional list<published.TStagedFile> stage
  9: optional published.TExec stagedProcess
}

// A worker of the cluster, and the master of its group when it has one.
struct TMember {
  1: optional TRef worker
  2: optional TRef master
  3: optional string node = ""
  // It takes nothing new, and what runs there is not lost.
  4: optional bool draining = false
}

// A reservation that travels from worker to worker. ageNanos as in TMessage.
struct TProbed {
  1: optional i64 jobHi = 0
  2: optional i64 jobLo = 0
  3: optional TRef distributor
  4: optional i8 jobClass = 0
  5: optional i32 count = 0
  6: optional string app = ""
  7: optional i64 estimateNanos = 0
  8: optional i64 ageNanos = -1
  9: optional i64 thresholdNanos = 0
}

// An attempt at a node, and how long it has run.
struct TAttained {
  1: optional i64 jobHi = 0
  2: optional i64 jobLo = 0
  3: optional i32 task = 0
  4: optional i32 attempt = 0
  5: optional i64 serviceNanos = 0
  6: optional bool running = false
}

/*
 * Fields that only the published policies use. Each list has at most 100,000 elements.
 * stamp is an instant by the clock of the one central scheduler, and is compared
 * only with other stamps of it; beside probes that rotate it is an age.
 */
struct TMore {
  1: optional list<TMember> members
  2: optional list<TProbed> probes
  3: optional list<i64> bits
  4: optional i64 stamp = 0
  5: optional i64 thresholdNanos = 0
  6: optional i64 queued = 0
  7: optional i64 workNanos = 0
  8: optional list<TAttained> slots
}

/*
 * One message of one core to another, every kind of every policy; kinds are
 * numbered by thrift/wire. Fields 1-49 are the core's, 50 up what the
 * daemons carry beside it.
 */
struct TMessage {
  1: i8 kind
  2: optional i32 fromSlot = 0
  3: optional i32 toSlot = 0
  4: optional i8 jobClass = 0
  5: optional i8 outcome = 0
  6: optional bool head = false
  7: optional bool resent = false
  8: optional bool reserved = false
  9: optional bool fixed = false
  10: optional i16 retries = 0
  11: optional i32 first = 0
  12: optional i32 count = 0
  13: optional i32 attempt = 0
  14: optional i64 jobHi = 0
  15: optional i64 jobLo = 0
  16: optional TRef peer
  17: optional TRef distributor
  18: optional i64 key = 0
  19: optional i64 seq = 0
  20: optional i64 epoch = 0
  21: optional i64 token = 0
  22: optional i64 estimateNanos = 0
  // Since the job's arrival at its frontend; -1 when the message has none.
  23: optional i64 ageNanos = -1
  24: optional string app = ""
  25: optional string node = ""
  26: optional string reason = ""
  27: optional list<string> serves
  28: optional list<TAttempt> kept
  29: optional bool full = false
  30: optional i16 losses = 0
  31: optional TMore more
  // Facts about the tasks: can be suspended, can be run again; the first is tried
  // as a short one; they came from another group and stay.
  32: optional bool stoppable = false
  33: optional bool restartable = false
  34: optional bool canary = false
  35: optional bool moved = false
  // Tasks of the whole job, in all groups; 0 when it is unknown.
  36: optional i32 total = 0
  // For whom the job runs: a path such as "team/alice"; empty for nobody in
  // particular. Its priority counts among the jobs of its owner.
  37: optional string owner = ""
  38: optional i32 priority = 0
  // Nobody knows the class of the job.
  39: optional bool undeclared = false
  // The guard of an earlier attempt ended under it: the next one gets a guard of its own.
  40: optional bool apart = false

  // The job's id as its user sees it.
  50: optional string jobName = ""
  // Where the frontend of the task serves the other daemons, and where it serves
  // applications (passed to backends), as host:port.
  51: optional string frontendAddress = ""
  52: optional string schedulerAddress = ""
  // One for each task of the range, or one that stands for all.
  53: optional list<TPayload> payloads
  // The application's names of the tasks; left out when they are their numbers.
  54: optional list<string> taskIds
  55: optional published.TTraceContext trace
  // Report: how long the attempt ran, and from when to when by the node's own
  // clock (Unix nanoseconds, to be shown only).
  56: optional i64 elapsedNanos = 0
  57: optional i64 startedNanos = 0
  58: optional i64 finishedNanos = 0
  // Report: the end of what a failed process wrote to stderr.
  59: optional binary tail
  60: optional string user = ""
  // Report: exit status of a process, 128 + n after signal n.
  61: optional i32 exitStatus = 0
  // Launch: tasks of other applications wait that are as urgent as this one.
  62: optional bool contended = false
  // Report: the number of this result among those of the node's process. Its
  // acknowledgement repeats it, so that a late one applies to no later result of the
  // same attempt. 0: the node numbers none.
  63: optional i64 resultNumber = 0
  // Tasks, Launch: how long the node may be cut off from its master before it stops
  // the attempt; 0 for no limit.
  70: optional i64 maxDisconnectNanos = 0
  // Submit (in recordings): the same, for the core.
  71: optional i64 coreDisconnectNanos = 0
  // Submit (in recordings): at most so many of its tasks run at a time; 0 for no limit.
  79: optional i32 coreMaxRunning = 0
  // Submit (in recordings), Tasks, Launch: slots of one node that each task takes; 0 for one.
  80: optional i32 slots = 0
  // The same: the job's tasks start together or not at all.
  81: optional bool gang = false
  // Launch: another slot of the node leads the attempt.
  82: optional bool companion = false
  // Of the user, as the application gave them; passed to backends.
  64: optional string userGroup = ""
  65: optional i32 userPriority = 0
  // Report: for how much of elapsedNanos the attempt was suspended.
  66: optional i64 suspendedNanos = 0
  // Report: why it failed, for programs: out_of_memory, time_limit, process_limit,
  // above_node_limit or not_allowed; empty when it is none of these.
  72: optional string code = ""
  // Launch, Report: the secret of the attempt, without which its frontend believes no report;
  // 0 for none.
  74: optional i64 secret = 0
  // Tasks: the key of the job, from which its master computes the secrets of attempts: 16 bytes
  // as two little-endian numbers; 0 for none.
  75: optional i64 reportKeyHi = 0
  76: optional i64 reportKeyLo = 0
}

/*
 * Messages of one daemon to one daemon, in order. sequence counts the sender's
 * batches to this receiver within its incarnation; a receiver ignores what it
 * has seen.
 */
struct TBatch {
  1: optional TRef sender
  2: optional TRef receiver
  3: string address
  4: i64 incarnation
  5: i64 epoch
  6: i64 sequence
  7: list<TMessage> messages
  // Reports that the sender has put into its journal.
  8: optional list<TAttempt> acknowledged
  // The numbers of those reports, in the same order; left out by a sender that
  // does not repeat them.
  9: optional list<i64> resultNumbers
  // The process of the receiver that the batch is meant for; 0, or left out by a sender of an
  // earlier version, for whichever serves there.
  10: optional i64 receiverIncarnation = 0
}

// problem is empty when the batch was accepted.
struct TBatchReply {
  1: i64 incarnation
  2: i64 sequence
  3: string problem
  // Kinds of messages of the batch that the receiver does not know: their messages were
  // left out, and are not to be sent to it again.
  4: optional list<i8> refusedKinds
}

// Attempts of a batch of reports that need not be repeated: journaled, or of a
// job that is unknown here.
struct TReportsReply {
  1: i64 incarnation
  2: list<TAttempt> acknowledged
  3: list<TJobId> unknown
  // Who answers. Another daemon may serve at the address by now, and jobs that are
  // unknown to it are none of its business.
  4: optional string sender = ""
}

// An attempt that a slot holds beside the one that runs in it: suspended, or
// waiting for its turn in the slot's own queue.
struct THeld {
  1: i64 jobHi
  2: i64 jobLo
  3: i32 task
  4: i32 attempt
  5: optional i8 jobClass = 0
  6: optional string app = ""
  7: optional TRef distributor
  8: optional string frontendAddress = ""
  9: optional string jobName = ""
  10: optional i64 estimateNanos = 0
  11: optional bool suspended = false
  12: optional string owner = ""
}

// One slot of a node. An attempt number of 0 means it is idle. Fields that a
// snapshot need not repeat are left out of it.
struct TSlot {
  1: i32 slot
  2: i64 seq
  3: optional i64 jobHi = 0
  4: optional i64 jobLo = 0
  5: optional i32 task = 0
  6: optional i32 attempt = 0
  7: optional i8 jobClass = 0
  8: optional string app = ""
  9: optional TRef distributor
  10: optional string frontendAddress = ""
  11: optional string jobName = ""
  12: optional bool reserved = false
  13: optional bool fixed = false
  14: optional list<string> serves
  15: optional list<TAttempt> kept
  16: optional list<THeld> held
  // The worker's number in the cluster, plus one; 0 when it has none yet.
  17: optional i32 number = 0
  // Of what runs: the estimate of a task of its job, 0 for none, and how long it has
  // run, suspensions left out.
  18: optional i64 estimateNanos = 0
  19: optional i64 ranNanos = 0
  // Results kept here beyond those that kept lists.
  20: optional i32 keptMore = 0
  21: optional string owner = ""
}

// A daemon that has departed, for display. Times are ages: clocks are not compared.
struct TDeparture {
  1: optional TRef daemon
  2: string address
  3: optional string version = ""
  // "lost" or "stopped"; empty: it is not shown any more, because it has returned or is to be
  // forgotten.
  4: optional string state = ""
  5: optional string reason = ""
  6: optional i64 ageNanos = 0
  // How long ago the record was made, changed or ended.
  7: optional i64 changedNanos = 0
  // The incarnation of the daemon that recorded this, and the number of the change there: they
  // order the changes of one origin, whatever the times say.
  8: optional i64 origin = 0
  9: optional i64 number = 0
}

// A daemon introduces itself. slots, serves, memory and host count for nodes.
struct THello {
  1: optional TRef sender
  2: i64 incarnation
  3: i64 epoch
  4: string address
  5: string schedulerAddress
  6: i32 group
  7: optional list<TSlot> slots
  8: optional list<string> serves
  // For the processes of applications, MB; and the host as applications know it.
  9: optional i64 memory = 0
  10: optional string host = ""
  // The highest number of a worker that the sender has seen, plus one: a new
  // master assigns none up to it.
  11: optional i32 highest = 0
  // The process of the master that chose the epoch. A new master chooses one above
  // an epoch of another process, also above one that equals its own by chance.
  12: optional i64 epochOf = 0
  // The policy that the sender is set to, with its parameters, and the version of its
  // binary; empty from a build that does not state them.
  13: optional string policy = ""
  14: optional string version = ""
  // What the sender can do beyond what every version can; unknown ones are ignored.
  15: optional list<string> features
  // Of a node: the processes before it whose attempts it has taken over, the latest last;
  // the hello names these attempts. What it does not name has ended with those processes,
  // or, when complete is set, was handed over too: it never began, or its result is
  // acknowledged.
  17: optional list<i64> continues
  18: optional bool complete = false
  // A node that takes nothing new.
  16: optional bool draining = false
  // It does so because its node monitor stops as soon as nothing runs there.
  24: optional bool stopsWhenEmpty = false
  // It does so by itself, because the disk of its work folder does not take what tasks write: why.
  25: optional string diskFault = ""
  // Of a node: the applications that have executors there, each once, and how many executors.
  27: optional list<string> applications
  28: optional i32 executors = 0
  // The sender stops in order; this is its last hello.
  19: optional bool stopping = false
  // Of a frontend that leads under its name: the token of its leadership. One with a higher token
  // has taken the name over from one with a lower. 0: it has the name alone.
  20: optional i64 token = 0
  // Of a frontend: daemons that departed, as it heard from earlier processes of this master;
  // and the last change of departures that it heard of, from the process of that incarnation.
  21: optional list<TDeparture> departed
  22: optional i64 departures = 0
  23: optional i64 departuresOf = 0
  // Of a node: its number among the hellos and snapshots of this incarnation; 0 from a build that
  // does not count hellos.
  26: optional i64 sequence = 0
}

// accepted false: problem says why, for the log of the caller.
struct THelloReply {
  1: optional TRef sender
  2: i64 incarnation
  3: i64 epoch
  4: bool accepted
  5: string problem
  6: optional list<string> serves
  7: i32 group
  // To a node under a policy in which one master numbers all workers: the
  // numbers of its slots, plus one, in the order of the hello.
  8: optional list<i32> numbers
  // Counts the registrations at this process of the master. Another number than before
  // means that the sender was not registered in between: what it sent then was dropped.
  9: optional i64 registration = 0
  // Of a standby, which registers nobody: where the master that leads serves, host:port;
  // empty when it does not know. To a master without leadership: where another one of its
  // group lives; the later of the two is refused.
  10: optional string leader = ""
  13: optional bool standby = false
  // Of the master's binary, and what it can do, as those of THello.
  11: optional string version = ""
  12: optional list<string> features
  // To a frontend: what has changed of the daemons that departed since the change that the hello
  // names, and the number of the last of these changes.
  14: optional list<TDeparture> departed
  15: optional i64 departures = 0
}

// All slots of a node, once a second: its heartbeat.
struct TSnapshot {
  1: optional TRef sender
  2: i64 incarnation
  3: i64 epoch
  4: i64 sequence
  5: list<TSlot> slots
  // Whether kept and keptMore of the slots list the results that are kept for some
  // seconds; otherwise those that the node listed before hold.
  6: optional bool listsKept = false
  // The node monitor stops in order, and this is its last
  // snapshot.
  8: optional bool stopping = false
  // The node takes nothing new; slots without an attempt are left out.
  7: optional bool draining = false
  // As those of THello.
  10: optional bool stopsWhenEmpty = false
  11: optional string diskFault = ""
  12: optional list<string> applications
  13: optional i32 executors = 0
  // The node monitor is about to be started again, and what runs goes on: the node is
  // silent for so long at most.
  9: optional i64 awayNanos = 0
}

// known false: the master has no such node (any more), which must say hello again.
struct TSnapshotReply {
  1: i64 incarnation
  2: i64 epoch
  3: bool known
  4: string problem
  // As in THelloReply.
  5: optional string leader = ""
  6: optional bool standby = false
}

// A live node: its slots' numbers plus one, slot by slot, 0 for a slot that is
// gone. memory in MB, for the processes of applications; 0 for none.
struct TRollNode {
  1: string name
  2: string address
  3: i64 incarnation
  4: list<i32> numbers
  5: optional i64 memory = 0
  6: optional string host = ""
  // It takes nothing new, and why when its disk is at fault.
  7: optional bool draining = false
  8: optional string diskFault = ""
  9: optional i32 slots = 0
}

struct TRollFrontend {
  1: string name
  2: string address
  3: i64 incarnation
  // Where it serves applications.
  4: optional string schedulerAddress = ""
}

// The membership: the nodes and frontends that are registered with a master. version grows with each change within
// the incarnation of the master.
struct TRoll {
  1: i64 incarnation
  2: i64 version
  3: list<TRollNode> nodes
  4: list<TRollFrontend> frontends
}

// What a master holds of one job.
struct TJobView {
  1: optional published.TGroupShare share
  2: list<published.TTaskStatus> tasks
}

// The jobs of a frontend of which tasks run in a group, each once. more: there are further
// ones, which are not listed.
struct TRunningJobs {
  1: list<TJobId> jobs
  2: bool more
}

/*
 * All that a frontend wants of one application at one node. tenure counts who
 * took the application over: a node follows the highest, and of one tenure the
 * highest sequence. executors are to live; those that do not are started unless
 * they have ended here, and others of the application are stopped.
 */
struct TOrder {
  1: string frontend
  // Where the frontend serves the other daemons: files are fetched there.
  2: string address
  3: i64 tenure
  4: i64 sequence
  5: application.TApplication application
  6: list<string> executors
  // The application is over; nothing of it stays.
  7: optional bool over = false
}

// tenure and frontend are those that the node follows now, this order's when it
// was accepted; incarnation is that of the application it holds.
struct TOrderReply {
  1: bool accepted
  2: i64 tenure
  3: string frontend
  4: i64 incarnation
}

// slots are those it has or waits for, held those it has. ranNanos: how long
// its process ran. refused: it cannot be at this node, and did not start.
struct THeldExecutor {
  1: application.TExecutorState state
  2: i32 slots
  3: i32 held
  4: i64 ranNanos
  5: bool refused
  6: bool attached
}

// last is the highest number of an executor that was ordered from the node.
struct THeldApplication {
  1: string id
  2: i64 incarnation
  3: string frontend
  4: i64 tenure
  5: i64 sequence
  6: i32 last
  7: list<THeldExecutor> executors
}

// What a node holds of applications. version grows with each change within the
// node's incarnation. memory and used in MB.
struct THoldings {
  1: i64 incarnation
  2: i64 version
  3: i64 memory
  4: i64 used
  5: list<THeldApplication> applications
}

// A piece of a file of an application, and the size of the whole.
struct TPiece {
  1: binary data
  2: i64 size
}

// What a slot of a node holds of one frontend: attempts that run, are suspended or wait
// there, and attempts whose results are kept.
struct TSlotInventory {
  1: i32 slot
  2: list<TAttempt> attempts
}

/*
 * What a node holds of one frontend, or a part of it: at most 1,000 attempts.
 * count and hash are of the whole inventory, and equal ones have the same attempts.
 * more: further parts follow. digest: no attempts are listed, because nothing has changed
 * since the frontend answered the whole inventory.
 */
struct TInventory {
  1: string node
  2: i64 incarnation
  3: string address
  // The one that is meant: another may serve at its address by now.
  4: string frontend
  5: i32 count
  6: i64 hash
  7: optional list<TSlotInventory> slots
  8: optional bool more = false
  9: optional bool digest = false
}

// Who answers, and which of the listed attempts it does not want: they are to be stopped,
// and their results forgotten. sendAll: the digest is not that of what this process
// answered last.
struct TInventoryReply {
  1: string frontend
  2: i64 incarnation
  3: list<TAttempt> unwanted
  4: bool sendAll
}

// What a node is to do: drain, or resume. A deadline of 0 is none; kill means at once.
struct TDrainOrder {
  1: bool resume
  2: i64 deadlineNanos
  3: bool kill
}

// state is up, draining or drained. running counts attempts, results those that no frontend
// has acknowledged. reason is why it takes nothing new whether it drains or not.
struct TDrainReply {
  1: string state
  2: i32 running
  3: i32 results
  4: optional string reason = ""
}

service PeerService {
  TBatchReply deliver(1: TBatch batch) throws (1: published.TPigeonException e)
  THelloReply hello(1: THello hello) throws (1: published.TPigeonException e)
  TSnapshotReply snapshot(1: TSnapshot snapshot) throws (1: published.TPigeonException e)
  // Node to frontend: ended attempts, repeated until acknowledged.
  TReportsReply reports(1: TBatch batch) throws (1: published.TPigeonException e)
  // Node to frontend: what the node holds of it; every 5 seconds while it holds anything,
  // and whenever one of the two may have missed something of the other.
  TInventoryReply inventory(1: TInventory inventory) throws (1: published.TPigeonException e)
  // To a master: answers when its membership differs from the one named, or after
  // waitMillis with the same.
  TRoll roll(1: i64 incarnation, 2: i64 version, 3: i32 waitMillis) throws (1: published.TPigeonException e)
  // Frontend to master.
  TJobView jobView(1: TJobId job, 2: string app) throws (1: published.TPigeonException e)
  // The attempts of a task that run or are suspended in the group: a jobView does not list all.
  list<published.TTaskStatus> runningAttempts(1: TJobId job, 2: i32 task) throws (1: published.TPigeonException e)
  // How many tasks of each of the jobs run in the group, in their order; 1,000 jobs at most.
  list<i32> runningTasks(1: list<TJobId> jobs) throws (1: published.TPigeonException e)
  // Which jobs of the frontend of that name have tasks that run in the group; it lists 10,000
  // jobs at most.
  TRunningJobs runningJobs(1: string frontend) throws (1: published.TPigeonException e)
  // To a master: stops showing a node or frontend that is not registered any more; returns
  // whether there was one. A registered one is refused.
  bool forgetNode(1: string name) throws (1: published.TPigeonException e)
  published.TMasterState masterState() throws (1: published.TPigeonException e)
  published.TGroupOwners groupOwners() throws (1: published.TPigeonException e)
  // Frontend to node.
  published.TLogChunk taskLog(1: TAttempt attempt, 2: string stream, 3: i64 offset, 4: i32 limit) throws (1: published.TPigeonException e)
  // Frontend to node: standard input of an attempt that runs there.
  published.TInputReply taskInput(1: TAttempt attempt, 2: published.TInput input) throws (1: published.TPigeonException e)
  // Frontend to node: states the whole order, also what was ordered before.
  TOrderReply orderExecutors(1: TOrder order) throws (1: published.TPigeonException e)
  // Frontend to node: answers when the holdings differ from those named, or
  // after waitMillis with the same. It renews the leases of the applications that
  // the node follows this frontend for.
  THoldings holdings(1: string frontend, 2: i64 incarnation, 3: i64 version, 4: i32 waitMillis) throws (1: published.TPigeonException e)
  // Frontend to node: begins or ends a drain; repeated, it changes the deadline.
  TDrainReply drain(1: TDrainOrder order) throws (1: published.TPigeonException e)
  // Node to frontend.
  TPiece filePiece(1: string sha256, 2: i64 offset, 3: i32 limit) throws (1: published.TPigeonException e)
}
