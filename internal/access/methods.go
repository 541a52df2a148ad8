package access

import (
	"maps"
	"slices"
)

// The services as the IDL names them. What a node monitor serves to backends is
// MasterService and NodeMonitorService, which extends it.
const (
	SchedulerService   = "SchedulerService"
	ApplicationService = "ApplicationService"
	ExecutorService    = "ExecutorService"
	PeerService        = "PeerService"
	MasterService      = "MasterService"
	NodeMonitorService = "NodeMonitorService"
	IdentityService    = "IdentityService"
)

// methods is which action each method of each service is.
var methods = map[string]map[string]Action{
	SchedulerService: {
		"registerFrontend": HearMessages, "submitJob": Submit, "sendFrontendMessage": PassMessages, "relayMessage": PassMessages,
		"submit": Submit, "stageFiles": Submit, "stagePiece": Submit, "jobStatus": SeeStates, "listJobs": SeeStates, "waitJob": SeeStates, "cancelJob": EndJob,
		"explainJob": SeeJob, "listNodes": SeeCluster, "forgetNode": ManageNodes, "listShares": SeeShares,
		"identify": AskName, "drainNode": ManageNodes, "resumeNode": ManageNodes, "taskLog": ReadOutput, "taskInput": GiveInput, "history": SeeJob,
		// It asks again whose a job is.
		"events": SeeStates,
	},
	ApplicationService: {
		"registerApplication": RunApplication, "putFile": RunApplication, "want": RunApplication, "news": RunApplication,
		"endApplication": EndJob,
	},
	ExecutorService: {"attachExecutor": UseGrants, "awaitGrants": UseGrants, "endGrants": UseGrants},
	MasterService:   {"registerBackend": ServeTasks, "taskFinished": ServeTasks, "sendFrontendMessage": PassMessages},
	NodeMonitorService: {
		"tasksFinished": ServeTasks,
	},
	PeerService: {
		"deliver": ExchangeMessages, "hello": Register, "snapshot": SendSnapshots, "reports": ReportResults, "inventory": ReportResults,
		"roll": FollowMembers, "jobView": QueryMasters, "runningAttempts": QueryMasters, "runningTasks": QueryMasters, "runningJobs": QueryMasters, "forgetNode": QueryMasters, "masterState": QueryMasters,
		"groupOwners": QueryMasters, "taskLog": OrderNodes, "taskInput": OrderNodes, "orderExecutors": OrderNodes, "holdings": OrderNodes, "drain": OrderNodes,
		"filePiece": FetchFiles,
	},
	IdentityService: {"authenticate": ProveIdentity},
}

// published is the methods that Sparrow and Pigeon published, whose clients cannot prove who
// they are.
var published = map[string][]string{
	SchedulerService:   {"registerFrontend", "submitJob", "sendFrontendMessage"},
	MasterService:      {"registerBackend", "taskFinished", "sendFrontendMessage"},
	NodeMonitorService: {"tasksFinished"},
}

// Method returns the action of a method of a service, false for one without a row.
func Method(service, method string) (Action, bool) {
	a, ok := methods[service][method]
	return a, ok
}

// IsPublished reports whether clients of the published protocols call the method.
func IsPublished(service, method string) bool { return slices.Contains(published[service], method) }

// pages is which action each HTTP page is, by its pattern as it is registered.
var pages = map[string]Action{
	"GET /healthz":      AskHealth,
	"GET /readyz":       AskHealth,
	"GET /metrics":      SeeCluster,
	"GET /status":       SeeStates,
	"GET /applications": SeeStates,
	// The page of a cluster, with what it draws. It asks again whose a job is.
	"GET /{$}":               SeeStates,
	"GET /page/":             SeeStates,
	"GET /page/jobs":         SeeStates,
	"GET /page/events":       SeeCluster,
	"GET /page/explain":      SeeJob,
	"GET /page/log":          ReadOutput,
	"GET /page/shares":       SeeShares,
	"GET /page/applications": SeeStates,
	"GET /api/state":         SeeCluster,
	// An executor's output, of which the node asks again whose it is.
	"GET /applications/": ReadOutput,
}

// Page returns the action of an HTTP page by the pattern under which it is registered, false
// for one without a row.
func Page(pattern string) (Action, bool) {
	a, ok := pages[pattern]
	return a, ok
}

// Methods returns the methods of a service that have a row.
func Methods(service string) []string { return slices.Sorted(maps.Keys(methods[service])) }

// Pages returns the patterns of the HTTP pages that have a row.
func Pages() []string { return slices.Sorted(maps.Keys(pages)) }
