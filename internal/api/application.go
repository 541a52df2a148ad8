package api

import "time"

// Application is a program that brings its own executors: processes of its own
// that lie warm on the nodes and are given slots one piece of work at a time, or
// hold slots for as long as they live.
type Application struct {
	ID          string // unique in the cluster; see [Application.Validate]
	Name        string // for people
	User        string
	Incarnation int64 // of the application's process
	Template    Template
	Grants      bool   // its executors take grants; else they hold slots
	Token       string // handed through to nobody; kept for authentication
}

// Template says how an executor of an application is started. In Argv and Env
// stand placeholders, [Placeholders], for what is known only on the node.
type Template struct {
	Argv    []string
	Env     []string // KEY=value
	Memory  int64    // MB of one executor, all in all
	Slots   int      // grants that one holds at once; 0: as many as the node has slots
	Files   []File
	Runtime *Runtime // nil: it needs none

	Reach        string // host:port that the executor must be able to connect to; "" for none
	ReachSetting string // the application's setting to blame
}

// File travels with an application, once to each node.
type File struct {
	Name   string
	SHA256 string // lower-case hexadecimal
	Size   int64  // bytes
}

// Runtime is the installation that an executor runs from: the home that a node
// has under Name, else Path when it exists there.
type Runtime struct {
	Name     string
	Version  string
	Path     string
	MustHold []string // files, relative to the home
	Shows    []string // patterns, relative to the home: what is there, for a refusal
	Setting  string   // of the application, which changes Path
}

// Level is what one set of equal pieces of work wants.
type Level struct {
	Name     string
	Total    int64 // grants wanted since the level began
	Had      int64 // of those, what reached the application
	Class    string
	Estimate time.Duration // of one piece of work; 0 if not known
	Hosts    []string      // that would suit best; told, and not used
	Title    string        // for people: what it is
	Why      string        // for people: who decided its class
}

// Wants is all that an application wants now.
type Wants struct {
	Application  string
	Incarnation  int64
	Sequence     int64    // counts the application's states
	Executors    int      // in all, or EveryNode
	Stop         []string // executors to be stopped; they are not replaced
	Levels       []Level
	LastExecutor int // highest number of an executor the application has heard of
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

// ExecutorState is where an executor stands.
type ExecutorState struct {
	ID         string `json:"executor"` // a number; empty while it waits
	Node       string `json:"node,omitempty"`
	Host       string `json:"host,omitempty"`
	State      string `json:"state"`
	ExitStatus int    `json:"exit,omitempty"` // 128 + n after signal n; -1 when the end was none of its own
	Reason     string `json:"reason,omitempty"`
	Stdout     string `json:"stdout,omitempty"` // URL
	Stderr     string `json:"stderr,omitempty"` // URL
	Final      bool   `json:"final,omitempty"`  // no other one is started
}

// News is what happened to an application's executors since it asked last.
type News struct {
	Version   int64
	Executors []ExecutorState
	Notes     []string // for the log of the application, oldest first
}

// ApplicationReply answers a registration and what an application wants.
type ApplicationReply struct {
	Missing   []string      // SHA-256 of files that are to be sent
	Lease     time.Duration // silence of the application for so long ends it
	Frontends []string      // host:port, the answering one first
	Cutoff    time.Duration // between the classes; 0 if it is not known
}

// Grant is one slot for one piece of work.
type Grant struct {
	ID    string
	Level string
	Class string
	Lease time.Duration // for so long after its coming pieces of this or a more urgent class may follow in the slot; 0: none may
}

// Grants are those that an executor has not acknowledged yet.
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

// GrantEnd says that a slot is free again.
type GrantEnd struct {
	ID     string
	How    int
	Ran    int           // pieces of work
	Used   time.Duration // by them in all
	Reason string
}
