package api

import "time"

// Application is a program with its own executors: processes that are kept running on
// the nodes and receive slots one piece of work at a time, or hold slots for as long as
// they live.
type Application struct {
	ID          string // unique in the cluster; see [Application.Validate]
	Name        string // for display
	User        string
	Incarnation int64 // of the application's process
	Template    Template
	Grants      bool   // its executors take grants; else they hold slots
	Token       string // reserved for authentication; not used yet
	Owner       string // for whom it runs: a path such as "team/alice"; "" is derived from User
	Submitter   string // who registered it, as was proven then; a frontend sets it
	Page        string // address of its own page, for people; "" for none
}

// Template describes how an executor of an application is started. Argv and Env may
// contain what is known only on the node: {{FILE:name}} for each of its files, and {{EXECUTOR_ID}},
// {{APP_ID}}, {{HOSTNAME}}, {{SLOTS}}, {{FOLDER}}, {{RUNTIME}}, {{NODE}}, {{TOKEN}}, {{JAVA_HOME}},
// {{LOG_STDOUT}} and {{LOG_STDERR}}.
type Template struct {
	Argv    []string
	Env     []string // KEY=value
	Memory  int64    // MB of one executor, all in all
	Slots   int      // grants that one holds at once; 0: as many as the node has slots
	Files   []File
	Runtime *Runtime // nil: it needs none

	Reach        string // host:port that an executor must be able to connect to; "" for none
	ReachSetting string // the application's setting that an error names
}

// File travels with an application, once to each node.
type File struct {
	Name   string
	SHA256 string // lower-case hexadecimal
	Size   int64  // bytes
}

// Runtime is the installation from which an executor runs: the home that a node has
// under Name, else Path when it exists there.
type Runtime struct {
	Name     string
	Version  string
	Path     string
	MustHold []string // files, relative to the home
	Shows    []string // patterns, relative to the home; a refusal lists the files that match
	Setting  string   // the application's setting that changes Path
}

// Level is the demand of one set of equal pieces of work.
type Level struct {
	Name     string
	Total    int64 // grants wanted since the level began
	Had      int64 // of those, how many reached the application
	Class    string
	Estimate time.Duration // of one piece of work; 0 if not known
	Hosts    []string      // that would suit best; displayed only
	Title    string        // what it is, for display
	Why      string        // how its class was decided, for display
	Owner    string        // for whom this work is; "" for the application's owner
	Priority int32         // among the work of its owner, higher is served first
}

// Wants is all that an application wants now.
type Wants struct {
	Application  string
	Incarnation  int64
	Sequence     int64    // counts the application's states
	Executors    int      // in all, or EveryNode
	Stop         []string // executors to be stopped; they are not replaced
	Levels       []Level
	LastExecutor int // highest number of an executor that the application has seen
}

// EveryNode wants one executor on every node that has room for it.
const EveryNode = -1

// The states of an executor.
const (
	ExecutorStarting = "starting"
	ExecutorRunning  = "running"
	ExecutorExited   = "exited"
	ExecutorWaiting  = "waiting"
)

// ExecutorState is the state of one executor.
type ExecutorState struct {
	ID         string `json:"executor"` // a number; empty while it waits
	Node       string `json:"node,omitempty"`
	Host       string `json:"host,omitempty"`
	State      string `json:"state"`
	ExitStatus int    `json:"exit,omitempty"` // 128 + n after signal n; -1 when its node was lost or stopped it
	Reason     string `json:"reason,omitempty"`
	Stdout     string `json:"stdout,omitempty"` // URL
	Stderr     string `json:"stderr,omitempty"` // URL
	Final      bool   `json:"final,omitempty"`  // no other one is started
}

// News is the changes of an application's executors since its last call.
type News struct {
	Version   int64
	Executors []ExecutorState
	Notes     []string // for the log of the application, oldest first
}

// ApplicationReply answers a registration and what an application wants.
type ApplicationReply struct {
	Missing   []string      // SHA-256 of files that must be sent
	Lease     time.Duration // after that long without a call the application ends
	Frontends []string      // host:port, the answering one first
	Cutoff    time.Duration // between the classes; 0 if it is not known
}

// Grant is one slot for one piece of work.
type Grant struct {
	ID    string
	Level string
	Class string
	Lease time.Duration // for that long after its arrival pieces of this or a more urgent class may follow in the slot; 0: none may
}

// Grants are the grants that an executor has not acknowledged yet.
type Grants struct {
	UpTo     int64
	Grants   []Grant
	GiveBack []string // ids of grants whose lease is over
}

// How a grant ended.
const (
	GrantUsed     = iota // a piece of work ran under it
	GrantDeclined        // the application had no use for it
	GrantUnfit           // the executor could not use it; the application has not seen it
)

// GrantEnd frees a slot.
type GrantEnd struct {
	ID     string
	How    int
	Ran    int           // pieces of work
	Used   time.Duration // by them in all
	Reason string
}
