/*
 * The services that applications and their backends speak.
 *
 * The methods and the fields with ids below 16 are those that Sparrow and Pigeon
 * published; programs written for either run against these services unchanged.
 * Fields from id 16 up and the methods marked "ours" are additions of this
 * project; a published client neither sends nor notices them. docs/wire.md has the
 * rules by which this file may change.
 *
 * Transport: binary protocol (strict write, lenient read) in 4-byte big-endian
 * frames, one service per port, no oneway methods.
 *
 * Requiredness: plain fields are written always and read as zero when missing.
 * "optional" with a default is written only when it differs from the default
 * and read as the default when missing; so an absent scalar costs nothing and
 * the generated Go holds it without a pointer.
 */
namespace go published
namespace java org.pigeonsched.thrift

// ---- Published structs ----

struct THostPort {
  1: string host
  2: i32 port
}

// Where an application would like a task to run. A hint.
struct TPlacementPreference {
  1: list<string> nodes
  2: list<string> racks
  3: i32 delayThreshold
}

struct TUserGroupInfo {
  1: string user
  2: string group
  3: i32 priority
}

// memory in MB
struct TResourceVector {
  1: i64 memory
  2: i32 cores
}

exception IncompleteRequestException {
  1: string message
}

exception ServerNotReadyException {
  1: string message
}

// One task as its backend sees it. requestId is the job's id.
struct TFullTaskId {
  1: string taskId
  2: string requestId
  3: string appId
  4: optional THostPort schedulerAddress
  5: bool isHT
}

// ---- Ours: parts of requests ----

// The two W3C trace context headers.
struct TTraceContext {
  1: string traceparent
  2: optional string tracestate = ""
}

// A process to run without a shell. env holds KEY=value, beside PATH, HOME, USER and the few
// others that every process has (docs/nodemonitor.md); an empty dir is the attempt's own folder.
struct TExec {
  1: list<string> argv
  2: list<string> env
  3: string dir
  // The text of a script, which the node writes to a file and runs in place of argv's program.
  4: optional binary script
  // It takes standard input, which taskInput gives it; else that is empty. Only in a job of one
  // task. Until the end of its input has been given it reads no end-of-file.
  5: optional bool stdin = false
}

// A file that is sent with a job: each attempt finds a copy under the name in its working folder.
// name is relative, with / between names; sha256 is lower-case hexadecimal.
struct TStagedFile {
  1: string name
  2: string sha256
  3: i64 size
  4: optional bool executable = false
}

// The indices of the tasks of an array: task k has the index first + k * step, or the k-th
// of the indices, such as 1,3,5-9; then first is -1 and step 1. numbers: they are the numbers that the tasks
// had in an earlier job.
struct TArray {
  1: i64 first
  2: i64 step
  3: optional string indices = ""
  4: optional bool numbers = false
}

// A job that must have ended before another one starts; any: however it has ended, otherwise it
// must have completed.
struct TAfter {
  1: string jobId
  2: optional bool any = false
}

struct TTaskSpec {
  1: string taskId
  2: optional TPlacementPreference preference
  3: binary message
  4: bool isHT
  // Ours. The request's backend decides which one is used.
  16: optional i64 sleepNanos = 0
  17: optional TExec process
}

struct TSchedulingRequest {
  1: string app
  2: list<TTaskSpec> tasks
  3: optional TUserGroupInfo user
  4: optional string description
  // Milliseconds. Sparrow calls this field probeRatio; plain Sparrow clients do
  // not send it.
  5: optional double avgTasksExecDuration
  // Ours. The same key submitted twice to one frontend is one job.
  16: optional string idempotencyKey = ""
  // "short", "long", or empty to derive it.
  17: optional string jobClass = ""
  // Of one task.
  18: optional i64 estimateNanos
  // "" for a process of the application, "sleep", or "exec".
  19: optional string backend = ""
  // Of a task that fails by itself.
  20: optional i32 retries = 0
  21: optional TTraceContext trace
  // Kept for authentication off loopback; not read by this version.
  22: optional string token = ""
  // For how long from now the caller waits for the answer; 0 for no limit. A
  // length, not an instant: clocks of two hosts are never compared.
  23: optional i64 deadlineNanos = 0
  // Tasks of "exec" may be stopped and run again from the beginning ("sleep": always;
  // a process of the application: never).
  24: optional bool restartable = false
  // How long a node may be cut off from its master before it stops the job's tasks; 0
  // for no limit. Only then are they started elsewhere.
  25: optional i64 maxDisconnectNanos = 0
  // For whom the job runs: a path such as "team/alice". Empty: the group and the
  // name of the user.
  26: optional string owner = ""
  // Among the jobs of its owner; higher ones are served first. Without it the
  // priority of the user counts.
  27: optional i32 priority
  // What the work is, so that its class can be learned from earlier jobs of the
  // same name and owner. Empty: the program and its first argument.
  28: optional string name = ""
  // The only frontend, by its name, that the client asks about this key: another one
  // refuses the job, and where keys are shared this one takes it without telling the others.
  29: optional string frontend = ""
  // What each task may use; 0 is no limit of its own. memoryBytes is of all its processes
  // together, cpus counts processors, timeLimitNanos is how long it may run.
  30: optional i64 memoryBytes = 0
  31: optional double cpus = 0
  32: optional i64 timeLimitNanos = 0
  // The jobs after which this one starts; until then its frontend holds it.
  33: optional list<TAfter> after
  // The indices of the tasks, which their processes find in PIGEON_ARRAY_INDEX.
  34: optional TArray array
  // At most so many of the tasks run at a time; 0 for no limit.
  35: optional i32 maxRunning = 0
  // Files that every attempt finds in its working folder. Their contents are sent before, by
  // stageFiles and stagePiece: a frontend without these methods would run the tasks without them.
  36: optional list<TStagedFile> stage
  // Running tasks are never suspended for others (a process of the application: never anyhow).
  37: optional bool noSuspend = false
  // What the processes of the tasks share: a task without a process runs this one, and arguments,
  // variables, folder and script that the process of a task does not have are those of this one.
  // Only for a frontend that says sharedProcess in its identity.
  38: optional TExec process
}

// ---- Ours: answers ----

// The four parts of a refusal: what happened, to what, what was tried, what to do
// next.
// problem: 1 invalid, 2 not found, 3 busy, 4 not ready, 5 internal, 6 denied.
// address: host:port of the frontend that answers the call instead: who leads, where a
// standby refuses; who has the job, where another frontend is asked. Empty: not known.
exception TPigeonException {
  1: string what
  2: string subject
  3: string tried
  4: string advice
  5: i32 problem
  6: i64 retryAfterMillis
  7: optional string address = ""
}

// duplicate: the key was known already and nothing new was accepted.
struct TSubmitReply {
  1: string jobId
  2: bool duplicate
}

// state: held, queued, running, completed, failed, cancelled. Times are Unix seconds
// of the frontend's clock, 0 for not yet; seconds is from submit to the end.
struct TJobStatus {
  1: string jobId
  2: string app
  3: string state
  4: string jobClass
  5: i32 tasks
  6: i32 running
  7: i32 completed
  8: i32 failed
  9: i32 attempts
  10: double submitted
  11: double ended
  12: string reason
  13: double seconds
  16: optional string owner = ""
  17: optional i32 priority = 0
  18: optional string name = ""
  // Who submitted it, as was proven then; empty when nothing was. To who may not see all of the
  // job, reason says only that.
  19: optional string submitter = ""
  // When the jobs after which it starts had ended; 0 while it is held, and for a job that waits
  // for none.
  20: optional double released = 0
  // What its first task runs, cut after 200 bytes; empty for work of an application, and to who
  // may not see all of the job.
  22: optional string command = ""
}

// Which jobs a list has: those that match every field that is set. owner: of it and of those
// below it; user: who submitted them, or where nothing is proven the last part of the owner;
// name: with * for any text; prefix: of their ids; sinceNanos: submitted so long ago at most.
struct TJobFilter {
  1: optional list<string> states
  2: optional string owner = ""
  3: optional string user = ""
  4: optional string name = ""
  5: optional string jobClass = ""
  6: optional string prefix = ""
  7: optional i64 sinceNanos = 0
}

struct TTaskStatus {
  1: i32 task
  2: i32 attempt
  3: string state
  4: string node
  // How long the attempt ran, so far while it runs, in seconds; 0 when it is not known.
  5: double seconds
  6: string reason
  // Of a process: its exit status, 128 + n after signal n; 0 when none is known.
  7: i32 exitStatus
  // Why it failed, for programs: out_of_memory, time_limit, process_limit,
  // above_node_limit or not_allowed; empty when it is none of these.
  8: optional string code = ""
  // When it began, in Unix seconds by the clock of its node, or of the master while it runs; 0
  // when it is not known.
  9: optional double started = 0
}

// What one group holds of a job, and how busy the group is. Waits in seconds.
struct TGroupShare {
  1: i32 group
  2: bool reachable
  3: i32 queued
  4: i32 running
  5: i32 aheadShort
  6: i32 aheadLong
  7: i32 idleGeneral
  8: i32 idleReserved
  9: i32 serving
  10: double oldestWait
  // The longest wait in each queue, and why tasks of the job wait, for programs.
  11: optional double oldestShort = 0
  12: optional double oldestLong = 0
  13: optional string reason = ""
}

// Why a job waits, or why it ended as it did: sentences, the most important first.
struct TExplanation {
  1: optional TJobStatus status
  2: list<string> why
  3: list<TGroupShare> groups
  4: list<TTaskStatus> tasks
  // The job's owner level by level, and owners that are served before it; none
  // where there is one owner.
  5: optional list<TOwnerShare> owners
  6: optional list<TOwnerShare> ahead
  // How the class of the job was decided, while it has not ended.
  7: optional string classReason = ""
  // Tasks that completed, the first ones, as far as the frontend knows when they ran.
  8: optional list<TTaskStatus> completed
  // The numbers of the tasks that failed, such as 1,3,5-9, once the job has ended and as far as they
  // are known.
  9: optional string failed = ""
  // The id of its trace, where it is traced, and where that is shown, by the setting trace_url.
  16: optional string trace = ""
  17: optional string traceUrl = ""
}

// What an owner, with all owners below it, is entitled to in a group and what it
// has. weight, max and min are as configured; entitled is in slots, with the
// owners that want some now; used and lead in slot-seconds: lead is by how much
// it is ahead of the owner of its level that is served next.
struct TOwnerShare {
  1: string owner
  2: double weight
  3: double max
  4: double min
  5: double entitled
  6: i32 runningShort
  7: i32 runningLong
  8: i32 queuedShort
  9: i32 queuedLong
  10: double usedShort
  11: double usedLong
  12: double leadShort
  13: double leadLong
}

// How the slots of one group are shared between owners. fair: its policy shares
// them at all. omitted: owners beyond the most that are listed. problem: why the
// shares could not be read again, since when in Unix seconds; those before stay in
// effect. halfLife in seconds.
struct TGroupOwners {
  1: i32 group
  2: bool reachable
  3: bool fair
  4: i32 slots
  5: double halfLife
  6: list<TOwnerShare> owners
  7: i32 omitted
  8: string problem
  9: double problemSince
}

// What an owner, with all owners below it, holds at one frontend, and its quota.
struct TQuotaState {
  1: string owner
  2: i32 tasks
  3: i32 maxTasks
  4: i64 bytes
  5: i64 maxBytes
}

// The quotas of one frontend, problem and problemSince as those of TGroupOwners.
struct TOwnerQuotas {
  1: string frontend
  2: i32 defaultTasks
  3: i64 defaultBytes
  4: list<TQuotaState> quotas
  5: string problem
  6: double problemSince
}

struct TShares {
  1: list<TGroupOwners> groups
  2: optional TOwnerQuotas quotas
}

struct TNode {
  1: string id
  2: i32 group
  3: string address
  4: i32 slots
  5: i32 reserved
  6: i32 busy
  7: list<string> apps
  8: bool up
  // For whom tasks run there, each owner once.
  16: optional list<string> owners
  // up, draining, drained, unreachable, lost or stopped; for how long it has been so, and
  // why. Empty from an earlier version.
  17: optional string state = ""
  18: optional double stateSeconds = 0
  19: optional string reason = ""
  // Of the node monitor's binary, as its hello stated it.
  20: optional string version = ""
  // Two characters for each slot: what is in it, and the index of its owner in owners. The
  // first is '.' (idle), 's' (a short task), 'l' (a long one) or 'b' (its class is not reported
  // yet), and '_', 'S', 'L' or 'B' of a slot that takes short tasks only. The second is one of
  // 0-9a-zA-Z, '-' for nobody in particular, or '+' beyond these. Empty from an earlier version.
  21: optional string slotUse = ""
  // Executors of applications there.
  22: optional i32 executors = 0
  // The name of the job in each slot, "" for none and where it is not known; none at all where no
  // slot has one, and from an earlier version.
  23: optional list<string> slotJobs
}

// A node that was told to drain or to resume. state as in TNode. running counts the attempts
// and executors that are still there, results the ends that no frontend has acknowledged yet. only names
// the applications whose tasks no other node can run now.
struct TNodeDrain {
  1: string node
  2: i32 group
  3: string state
  4: i32 running
  5: i32 results
  6: optional list<string> only
  // Why it takes nothing new whether it drains or not.
  7: optional string reason = ""
}

// A frontend as a master sees it, or a master as a frontend does. state, stateSeconds and
// reason as those of TNode.
struct TDaemonState {
  1: string name
  2: string address
  3: string state
  4: double stateSeconds
  5: string reason
  6: string version
  // Of a frontend that is registered: where it serves applications, host:port.
  7: optional string scheduler = ""
}

// One of the masters of a group that has several: role is "leader", "standby", or
// empty when it could not be reached.
struct TGroupMaster {
  1: string address
  2: string role
}

// One group as its master sees it. Waits in seconds. role: "leader", "standby", or empty
// where masters have no standbys. leader is where the one that leads serves, as far as the
// master knows. masters is filled in by a frontend that knows several addresses.
struct TMasterState {
  1: i32 group
  2: i64 epoch
  3: i32 queuedShort
  4: i32 queuedLong
  5: double oldestShort
  6: double oldestLong
  7: i32 idleGeneral
  8: i32 idleReserved
  9: i32 busyGeneral
  10: i32 busyReserved
  11: i32 workers
  12: i64 launches
  13: i64 lost
  14: i64 refused
  15: list<TNode> nodes
  16: optional string role = ""
  17: optional string leader = ""
  18: optional list<TGroupMaster> masters
  // The master as the frontend that answers sees it, and the frontends as the master sees
  // them.
  19: optional TDaemonState master
  20: optional list<TDaemonState> frontends
  // Nodes that are not registered any more: lost, stopped or refused.
  21: optional list<TNode> departed
  // A sentence about each NATS server that does not keep the leaderships as it should.
  22: optional list<string> natsFaults
}

// A frontend as its clients know it. sharedKeys: a job that is submitted again under its
// idempotency key is the same job at every frontend of the cluster, not at this one alone.
struct TFrontendIdentity {
  1: string name
  2: bool sharedKeys
  // The address of its page; empty where it has none, or none that others reach.
  3: optional string page = ""
  // It knows the process that the tasks of a request share.
  4: optional bool sharedProcess = false
  // The bytes that the staged files of one job may have; below 0: it takes none; 0: it does not say.
  5: optional i64 stageBytes = 0
}

// A piece of what an attempt wrote. size: bytes up to the last one that is kept; ended: no
// more will come. missing: so many bytes from the offset on are not kept, for the reason why,
// and what is kept goes on after them; data is empty then. attempt: whose output it is, 0 from
// a node of an earlier version.
struct TLogChunk {
  1: binary data
  2: i64 size
  3: bool ended
  4: optional i64 missing = 0
  5: optional string why = ""
  6: optional i32 attempt = 0
}

// A piece of the standard input of a task. offset: of the first byte, from 0; data: at most 64 KiB;
// last: the input ends with them. It is answered after waitMillis, 10,000 at most, if not before.
struct TInput {
  1: i64 offset
  2: binary data
  3: bool last
  4: i32 waitMillis
}

// attempt and node: which runs, and where. upTo: how many bytes it has been given in all, so that
// the next piece begins there. closed: it takes no more, because it reads no more or had the end.
struct TInputReply {
  1: i64 upTo
  2: bool closed
  3: i32 attempt
  4: string node
}

// What a job that ended used. Times in Unix seconds; started: a task is known to have started,
// and the waits count.
struct TJobUsage {
  1: string job
  2: string name
  3: string owner
  4: string submitter
  5: string app
  6: string jobClass
  7: string state
  8: string reason
  9: double submitted
  10: double ended
  11: i32 tasks
  12: i32 completed
  13: i32 failed
  14: i32 attempts
  15: i32 again
  16: double slotSeconds
  17: double lostSeconds
  18: bool started
  19: double wait
  20: double longestWait
}

// The sum over jobs that are equal in the keys of a query. A bucket of waits is the rounded up
// logarithm to the base 1.02 of microseconds; counts are the jobs in each.
struct TUsageSum {
  1: list<string> keys
  2: i64 jobs
  3: i64 completed
  4: i64 failed
  5: i64 cancelled
  6: i64 tasks
  7: i64 failedTasks
  8: i64 attempts
  9: i64 again
  10: double slotSeconds
  11: double lostSeconds
  12: i64 started
  13: double waitSeconds
  14: double longestWait
  15: list<i32> buckets
  16: list<i64> counts
}

// Which jobs that ended. by: owner, class, day, name, state; without them the jobs themselves.
// The last three are those of the last job of the page before.
struct THistoryQuery {
  1: optional double since = 0
  2: optional double before = 0
  3: optional string owner = ""
  4: optional string jobClass = ""
  5: optional string job = ""
  6: optional string state = ""
  7: optional string name = ""
  8: optional list<string> by
  9: optional i32 limit = 0
  10: optional bool descending = false
  11: optional string afterJob = ""
  12: optional double afterEnded = 0
  13: optional double afterSubmitted = 0
}

// The answer of one frontend. kept: jobs that it keeps, the oldest of which ended then; limit:
// at most so many. removed and dropped count since its start. problem: why it keeps none.
struct THistoryPage {
  1: string frontend
  2: list<TJobUsage> jobs
  3: bool more
  4: list<TUsageSum> sums
  5: i64 kept
  6: double oldest
  7: i64 limit
  8: i64 removed
  9: i64 dropped
  10: string problem
}

// What happened, as one frontend learned it. index: dense among the events of that process; time:
// RFC 3339 in UTC with milliseconds; task and group: -1 for none; reason: a code; count: of what
// the event sums up, 0 for one.
struct TEvent {
  1: i64 index
  2: string time
  3: string type
  4: string severity
  5: string frontend
  6: string message
  7: optional string reason = ""
  8: optional string job = ""
  9: optional i32 task = -1
  10: optional i32 attempt = 0
  11: optional string node = ""
  12: optional i32 group = -1
  13: optional string owner = ""
  14: optional string submitter = ""
  15: optional i64 count = 0
  16: optional i64 epoch = 0
}

// Which events: those after an index of the process of that epoch, or after the beginning of
// another one; sinceNanos: not older than that, 0 for all. types: names of types, or their first
// words. job: the beginning of an id. waitMillis: how long an answer without events may be held
// back, at most a minute.
struct TEventQuery {
  1: optional i64 epoch = 0
  2: optional i64 after = 0
  3: optional i64 sinceNanos = 0
  4: optional list<string> types
  5: optional string job = ""
  6: optional string owner = ""
  7: optional string node = ""
  8: optional i32 limit = 0
  9: optional i32 waitMillis = 0
}

// The answer of one frontend. epoch: of its process; last: the index to go on after; more: events
// follow; missed: events after the one named that are not kept any more.
struct TEventPage {
  1: string frontend
  2: i64 epoch
  3: list<TEvent> events
  4: i64 last
  5: bool more
  6: i64 missed
}

// ---- Services ----

// Served by the frontend daemon on 20503. Job ids are the user's: the
// idempotency key, or the id made for a job submitted without one.
service SchedulerService {
  bool registerFrontend(1: string app, 2: string socketAddress)
  // Zero tasks: a liveness ping, nothing is accepted.
  void submitJob(1: TSchedulingRequest req) throws (1: IncompleteRequestException e)
  void sendFrontendMessage(1: string app, 2: TFullTaskId taskId, 3: i32 status, 4: binary message)

  // Ours.
  TSubmitReply submit(1: TSchedulingRequest req) throws (1: TPigeonException e)
  TJobStatus jobStatus(1: string jobId) throws (1: TPigeonException e)
  // The newest jobs first; limit 0 is the server's own, and 1,000 are the most of one call.
  // after: the last job of the page before, "" for the newest. An earlier version ignores the
  // filter: who asks filters what it gets.
  list<TJobStatus> listJobs(1: i32 limit, 2: string after, 3: TJobFilter filter) throws (1: TPigeonException e)
  // Answers when the job ended or the time is up, whichever is first.
  TJobStatus waitJob(1: string jobId, 2: i64 timeoutMillis) throws (1: TPigeonException e)
  TJobStatus cancelJob(1: string jobId) throws (1: TPigeonException e)
  TExplanation explainJob(1: string jobId) throws (1: TPigeonException e)
  // Every group that can be reached, with its nodes.
  list<TMasterState> listNodes() throws (1: TPigeonException e)
  // Stops showing a node or frontend that is lost or stopped; returns the groups that did
  // show it. One that is up is refused.
  list<i32> forgetNode(1: string node) throws (1: TPigeonException e)
  // How every group's slots are shared between owners, and this frontend's quotas.
  TShares listShares() throws (1: TPigeonException e)
  // Which frontend serves here. A standby refuses, and names the address of who leads.
  TFrontendIdentity identify() throws (1: TPigeonException e)
  // The node takes nothing new. What still runs there after the deadline is given back and
  // runs elsewhere; a deadline of 0 is none, and kill means at once.
  TNodeDrain drainNode(1: string node, 2: i64 deadlineMillis, 3: bool kill) throws (1: TPigeonException e)
  // Ends a drain: the node takes tasks again.
  TNodeDrain resumeNode(1: string node) throws (1: TPigeonException e)
  // attempt 0 is the latest; stream is "stdout" or "stderr"; limit in bytes.
  TLogChunk taskLog(1: string jobId, 2: i32 task, 3: i32 attempt, 4: string stream, 5: i64 offset, 6: i32 limit) throws (1: TPigeonException e)
  // Gives a piece of standard input to the task of a job. What was given already is left out, and a
  // piece that begins behind that is not taken: the reply says where to go on. attempt 0 is
  // whichever runs, and an empty node wherever it does; with those of the last reply nobody is
  // asked where that is. Problem 4 (not ready): it does not run, now or there.
  TInputReply taskInput(1: string jobId, 2: i32 attempt, 3: string node, 4: TInput input) throws (1: TPigeonException e)
  // Announces files that are to be sent with a job, all of them, and returns how many bytes of each
  // have arrived from the caller. A job may name them for ten minutes after their last piece.
  list<i64> stageFiles(1: list<TStagedFile> files) throws (1: TPigeonException e)
  // A piece of a file that the caller has announced; answers with how many bytes have arrived. A
  // piece has 1 MiB at most, and one that does not begin there changes nothing.
  i64 stagePiece(1: string sha256, 2: i64 offset, 3: binary data) throws (1: TPigeonException e)
  // Jobs that ended and what they used: those of the caller, or all for an operator.
  THistoryPage history(1: THistoryQuery query) throws (1: TPigeonException e)
  // What happened, in the order of the index. Answers when there is such an event, or the time is
  // up. Of others' jobs a user is told the id, the owner and the state.
  TEventPage events(1: TEventQuery query) throws (1: TPigeonException e)
  // sendFrontendMessage for node monitors: the refusal says whether the message is to be repeated.
  void relayMessage(1: string app, 2: TFullTaskId taskId, 3: i32 status, 4: binary message) throws (1: TPigeonException e)
}

// Served by an application.
service FrontendService {
  void frontendMessage(1: TFullTaskId taskId, 2: i32 status, 3: binary message)
}

// Served by a backend process. Must return at once.
service BackendService {
  void launchTask(1: binary message, 2: TFullTaskId taskId, 3: TUserGroupInfo user)
}

// What Pigeon's backends call. kind: 0 general, 1 reserved; ours: 2 resident. A
// missing kind, as Sparrow's backends send it, reads as 0.
service MasterService {
  bool registerBackend(1: string app, 2: string listenSocket, 3: i32 kind)
  void taskFinished(1: list<TFullTaskId> tasks, 2: THostPort worker)
  void sendFrontendMessage(1: string app, 2: TFullTaskId taskId, 3: i32 status, 4: binary message)
}

// What Sparrow's backends call. It contains Pigeon's, so the node monitor serves
// both kinds on 20501.
service NodeMonitorService extends MasterService {
  void tasksFinished(1: list<TFullTaskId> tasks)
}
