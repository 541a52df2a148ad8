package access

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Action is what a principal wants to do, in the words of a refusal: "alice may not ...".
type Action string

// What people do, and the programs that they run.
const (
	ProveIdentity  Action = "say who it is"
	AskHealth      Action = "ask whether a daemon lives and is ready"
	AskName        Action = "ask which frontend answers"
	SeeStates      Action = "see the names and states of jobs"
	SeeCluster     Action = "see groups, nodes and metrics"
	SeeShares      Action = "see how slots are shared between owners"
	Submit         Action = "submit jobs"
	NameOwner      Action = "run work for an owner" // own: its own name, and what owner_users lists
	SeeJob         Action = "see all of a job"      // its reasons, tasks and explanation
	ReadOutput     Action = "read the output of a job or an executor"
	EndJob         Action = "end a job or an application"
	GiveInput      Action = "give a job standard input"
	RunApplication Action = "run an application with executors"
	HearMessages   Action = "hear the messages of an application"
	PassMessages   Action = "pass a message to an application" // a node says whose application it is
	ServeTasks     Action = "run tasks of an application in a backend"
	UseGrants      Action = "take grants as an executor" // the executor's own token proves who it is
	ManageNodes    Action = "drain, resume or forget nodes"
)

// What daemons do among each other.
const (
	ExchangeMessages Action = "exchange messages of cores"
	Register         Action = "register with a master, or announce itself as one"
	SendSnapshots    Action = "send the snapshots of a node"
	ReportResults    Action = "report the results and attempts of a node"
	FetchFiles       Action = "fetch the files of applications and jobs"
	FollowMembers    Action = "follow the membership"
	QueryMasters     Action = "query a master for jobs, nodes and shares"
	OrderNodes       Action = "order executors and drains at a node, and pass on the outputs and inputs of its tasks"
)

// Actions returns all actions in the order of the table in docs/security.md.
func Actions() []Action {
	return []Action{
		ProveIdentity, AskHealth, AskName, SeeStates, SeeCluster, SeeShares, Submit, NameOwner, SeeJob, ReadOutput, EndJob, GiveInput,
		RunApplication, HearMessages, PassMessages, ServeTasks, UseGrants, ManageNodes,
		ExchangeMessages, Register, SendSnapshots, ReportResults, FetchFiles, FollowMembers, QueryMasters, OrderNodes,
	}
}

// Scope is to what a role may do an action.
type Scope int

// The scopes.
const (
	Nothing Scope = iota
	Own           // what the principal submitted or registered itself
	All
)

// rule is a row of the table. People's roles are ordered: who is above may do whatever those
// below may.
type rule struct {
	anybody bool            // also who has proven nothing
	own     identity.Role   // the least role of a person that may do it to its own; "" where all decides
	all     identity.Role   // the least role of a person that may do it to everything; "" for none
	daemons []identity.Role // that may do it to everything
}

// rules is the one table.
var rules = map[Action]rule{
	ProveIdentity:  {anybody: true},
	AskHealth:      {anybody: true},
	AskName:        {all: identity.Viewer, daemons: []identity.Role{identity.Frontend}},
	SeeStates:      {all: identity.Viewer, daemons: []identity.Role{identity.Frontend}},
	SeeCluster:     {all: identity.Viewer},
	SeeShares:      {own: identity.Viewer, all: identity.Operator},
	Submit:         {own: identity.User},
	NameOwner:      {own: identity.User, all: identity.Operator},
	SeeJob:         {own: identity.User, all: identity.Operator},
	ReadOutput:     {own: identity.User, all: identity.Operator},
	EndJob:         {own: identity.User, all: identity.Operator},
	GiveInput:      {own: identity.User, all: identity.Operator},
	RunApplication: {own: identity.User},
	HearMessages:   {own: identity.User},
	PassMessages:   {own: identity.User, daemons: []identity.Role{identity.Node}},
	ServeTasks:     {own: identity.User},
	UseGrants:      {anybody: true},
	ManageNodes:    {all: identity.Operator},

	ExchangeMessages: {daemons: identity.Daemons},
	Register:         {daemons: identity.Daemons},
	SendSnapshots:    {daemons: []identity.Role{identity.Node}},
	ReportResults:    {daemons: []identity.Role{identity.Node}},
	FetchFiles:       {daemons: []identity.Role{identity.Node}},
	FollowMembers:    {daemons: identity.Daemons}, // a master while it is a standby
	QueryMasters:     {daemons: []identity.Role{identity.Frontend}},
	OrderNodes:       {daemons: []identity.Role{identity.Frontend}},
}

// Of returns to what a role may do an action. An action that the table does not have is done
// by nobody but a superuser, who could do anything to the daemon anyway.
func Of(r identity.Role, a Action) Scope {
	u, known := rules[a]
	switch {
	case r == identity.Superuser:
		return All
	case !known:
		return Nothing
	case u.anybody || atLeast(r, u.all) || slices.Contains(u.daemons, r):
		return All
	case atLeast(r, u.own):
		return Own
	}
	return Nothing
}

// atLeast reports whether r is the role of a person and not below another one.
func atLeast(r, least identity.Role) bool {
	at, from := -1, len(identity.People)
	for i, p := range identity.People {
		if p == r {
			at = i
		}
		if p == least {
			from = i
		}
	}
	return at >= from
}
