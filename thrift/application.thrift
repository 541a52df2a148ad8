/*
 * The protocol between applications that bring their own executors and the
 * frontends, and between such executors and the node monitor that started them.
 * Spark's plugin speaks it; nothing in it is specific to Spark.
 * docs/applications.md describes it.
 *
 * An executor is a process of one application that is kept running on a node; a
 * grant lets it use one slot for one piece of work that the application chooses
 * then.
 *
 * Applications and executors open all connections: the application calls a
 * frontend, an executor calls its node monitor, and news is a long poll. Every
 * request states a whole state and not a change of one, so that it can be repeated
 * after any failure, at any frontend.
 *
 * Transport and requiredness: as in published.thrift. The services are part of
 * SchedulerService and NodeMonitorService, on their ports.
 */
include "published.thrift"

namespace go application
namespace java org.pigeonsched.thrift.application

// A file that travels with an application, once to each node.
struct TFile {
  1: string name
  // Lower-case hexadecimal.
  2: string sha256
  3: i64 size
}

// The installation an executor runs from. A node takes the home configured there
// under this name, else path when it exists there; the home must hold every file
// of mustHold (relative paths), else the executor is refused with what was found
// by the patterns of shows in either place.
struct TRuntime {
  1: string name
  2: string version
  3: string path
  4: list<string> mustHold
  5: list<string> shows
  // The setting of the application that changes path, for the refusal.
  6: string setting
}

/*
 * How an executor is started. In argv and env these stand for what is known only
 * on the node: {{EXECUTOR_ID}} {{APP_ID}} {{HOSTNAME}} {{SLOTS}} {{FOLDER}} (the
 * executor's own, where it runs) {{RUNTIME}} (the home, see TRuntime)
 * {{FILE:name}} (where a file of the application lies) {{NODE}} (host:port of the
 * node monitor for ExecutorService) {{TOKEN}} {{JAVA_HOME}} {{LOG_STDOUT}}
 * {{LOG_STDERR}} (URLs under which they can be read). env holds KEY=value.
 */
struct TTemplate {
  1: list<string> argv
  2: list<string> env
  // Of one executor, all in all, MB.
  3: i64 memory
  // Grants that one executor holds at once; 0: as many as the node has slots.
  4: i32 slots
  5: list<TFile> files
  6: optional TRuntime runtime
  // Where the executor must be able to connect to, host:port; the node tries it
  // first. reachSetting is the application's setting that a refusal names.
  7: string reach
  8: string reachSetting
}

struct TApplication {
  // Chosen by the application, unique in the cluster.
  1: string id
  2: string name
  3: string user
  // Of the application's process: another process with the same id is refused
  // while the first one lives.
  4: i64 incarnation
  5: optional TTemplate template
  // Whether its executors take grants. If not, they hold slots of their nodes for as
  // long as they live.
  6: bool grants
  7: string token
  // For whom it runs: a path such as "team/alice"; empty: its user.
  8: optional string owner = ""
  // Who registered it, as was proven then; a frontend states it to nodes, and ignores what an
  // application says here.
  9: optional string submitter = ""
  // http(s) address of its own page, for people; empty for none.
  10: optional string page = ""
}

/*
 * The demand of one set of equal pieces of work, for instance a stage attempt of
 * Spark. total counts all grants wanted since the level began, those received
 * included, so a repetition changes nothing. Nothing more is wanted of a level that
 * is left out.
 */
struct TLevel {
  1: string name
  2: i64 total
  // Grants of this level that reached the application so far.
  3: i64 had
  // "short", "long", or empty to derive it from the estimate.
  4: string jobClass
  // Of one piece of work; 0 if not known.
  5: i64 estimateNanos
  // Hosts that would suit best. Shown, and not used: a slot is granted
  // by the policy, and which piece of work suits it is the application's choice.
  6: list<string> hosts
  // To be shown: what it is, and how its class was decided.
  7: string title
  8: string why
  // For whom this piece of work is; empty: the owner of the application.
  9: optional string owner = ""
  // Among the work of its owner; higher is served first.
  10: optional i32 priority = 0
}

// All that an application wants now. sequence counts its states; an older one is
// ignored.
struct TWants {
  1: string application
  2: i64 incarnation
  3: i64 sequence
  // How many executors in all (-1: one on every node that has room for it), and
  // which of them are to be stopped; those are not replaced.
  4: i32 executors
  5: list<string> stop
  6: list<TLevel> levels
  // The highest number of an executor that the application has seen: a
  // frontend that takes it over numbers new ones above.
  7: optional i32 lastExecutor = 0
}

// state: "starting", "running", "exited" (an end for good: the id never comes
// back), "waiting" (nothing fits; reason names what is missing and its users).
struct TExecutorState {
  // A decimal number from 0 up, never used twice in an application. Empty while
  // state is "waiting".
  1: string id
  2: string node
  3: string host
  4: string state
  // 128 + n after signal n. -1: its node was lost, or stopped it.
  5: i32 exitStatus
  // In words a user can read, four parts where it is a refusal.
  6: string reason
  7: string stdoutUrl
  8: string stderrUrl
  // The cap on restarts is reached or it can never work: no other one is started.
  9: bool final
}

// version grows with each change at one frontend: after a registration the application asks with 0.
// executors are those that changed since the version of the request, or all of
// them if that was 0. notes are for the log of the application, oldest first.
struct TNews {
  1: i64 version
  2: list<TExecutorState> executors
  3: list<string> notes
}

// missing: files (sha256) that are to be sent with putFile before executors can
// start.
struct TApplicationReply {
  1: list<string> missing
  // Silence of the application for so long ends it and its executors.
  2: i32 leaseMillis
  // host:port of all frontends of the cluster that this one knows, itself first.
  3: list<string> frontends
  // The cluster's boundary between short and long; 0 if it is not known.
  4: i64 cutoffNanos
}

// One slot for one piece of work.
struct TGrant {
  // Never used again; opaque to the application.
  1: string id
  2: string level
  3: string jobClass
  // For so long after the grant has arrived, the application may put another piece of
  // work, of the same or a more urgent class, into the slot that one has just left;
  // 0: it may not, because others wait.
  4: i32 leaseMillis
}

// upTo is the after of the next call. giveBack names grants whose lease is
// over before its time, because others wait or the grant was cancelled: no further piece
// of work under it.
struct TGrants {
  1: i64 upTo
  2: list<TGrant> grants
  3: list<string> giveBack
}

// how: 0 used, 1 handed back unused, 2 the executor could not use it.
struct TGrantEnd {
  1: string id
  2: i32 how
  // Pieces of work that ran under it, and how long they took in all.
  3: i32 ran
  4: i64 usedNanos
  5: string reason
}

// Served by the frontend, as a part of SchedulerService.
service ApplicationService {
  // Again with the same id and incarnation: the same answer, also from another
  // frontend, which then takes the application over with its executors.
  TApplicationReply registerApplication(1: TApplication application) throws (1: published.TPigeonException e)
  // A piece of a file; answers with how many bytes have arrived. At most 1 MiB each.
  i64 putFile(1: string application, 2: string sha256, 3: i64 offset, 4: binary data) throws (1: published.TPigeonException e)
  TApplicationReply want(1: TWants wants) throws (1: published.TPigeonException e)
  // Answers when there is news after the version, or when waitMillis are over. It
  // renews the lease. Problem 2 (not found): register again.
  TNews news(1: string application, 2: i64 incarnation, 3: i64 version, 4: i32 waitMillis) throws (1: published.TPigeonException e)
  // The application is over; its executors are stopped and their folders removed.
  void endApplication(1: string application, 2: i64 incarnation) throws (1: published.TPigeonException e)
}

// Served by the node monitor, as a part of NodeMonitorService, for the executors
// it started. token is theirs from {{TOKEN}}.
service ExecutorService {
  // The executor can take grants, slots of them at once.
  void attachExecutor(1: string application, 2: string executor, 3: string token, 4: i32 slots) throws (1: published.TPigeonException e)
  // Answers when there are grants behind after (0 at first), or when waitMillis are
  // over. What was answered is answered again until a later after acknowledges it.
  TGrants awaitGrants(1: string application, 2: string executor, 3: string token, 4: i64 after, 5: i32 waitMillis) throws (1: published.TPigeonException e)
  // The slots are free again. A repetition changes nothing.
  void endGrants(1: string application, 2: string executor, 3: string token, 4: list<TGrantEnd> ends) throws (1: published.TPigeonException e)
}
