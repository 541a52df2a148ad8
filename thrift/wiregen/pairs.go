package main

// pair is a struct of ours and the Thrift struct that carries it.
type pair struct {
	plain  string // package.Type
	thrift string
	hand   string // the stem of the functions when they are written by hand
}

var pairs = []pair{
	{plain: "api.Status", thrift: "published.TJobStatus"},
	{plain: "api.JobFilter", thrift: "published.TJobFilter"},
	{plain: "api.TaskStatus", thrift: "published.TTaskStatus"},
	{plain: "api.GroupShare", thrift: "published.TGroupShare"},
	{plain: "api.Explanation", thrift: "published.TExplanation"},
	{plain: "api.Node", thrift: "published.TNode"},
	{plain: "api.GroupMaster", thrift: "published.TGroupMaster"},
	{plain: "api.DaemonState", thrift: "published.TDaemonState"},
	{plain: "api.MasterState", thrift: "published.TMasterState"},
	{plain: "api.NodeDrain", thrift: "published.TNodeDrain"},
	{plain: "api.OwnerShare", thrift: "published.TOwnerShare"},
	{plain: "api.GroupOwners", thrift: "published.TGroupOwners"},
	{plain: "api.QuotaState", thrift: "published.TQuotaState"},
	{plain: "api.OwnerQuotas", thrift: "published.TOwnerQuotas"},
	{plain: "api.OwnerShares", thrift: "published.TShares"},
	{plain: "api.Exec", thrift: "published.TExec"},
	{plain: "api.After", thrift: "published.TAfter"},
	{plain: "api.Array", thrift: "published.TArray"},
	{plain: "api.StagedFile", thrift: "published.TStagedFile"},
	{plain: "api.FrontendIdentity", thrift: "published.TFrontendIdentity"},
	{plain: "wire.LogChunk", thrift: "published.TLogChunk"},
	{plain: "wire.Input", thrift: "published.TInput"},
	{plain: "wire.InputReply", thrift: "published.TInputReply"},
	{plain: "api.JobUsage", thrift: "published.TJobUsage"},
	{plain: "api.UsageSum", thrift: "published.TUsageSum"},
	{plain: "api.HistoryQuery", thrift: "published.THistoryQuery"},
	{plain: "api.HistoryPage", thrift: "published.THistoryPage"},
	{plain: "api.Event", thrift: "published.TEvent"},
	{plain: "api.EventQuery", thrift: "published.TEventQuery"},
	{plain: "api.EventPage", thrift: "published.TEventPage"},

	{plain: "api.Application", thrift: "application.TApplication"},
	{plain: "api.Template", thrift: "application.TTemplate"},
	{plain: "api.File", thrift: "application.TFile"},
	{plain: "api.Runtime", thrift: "application.TRuntime"},
	{plain: "api.ApplicationReply", thrift: "application.TApplicationReply"},
	{plain: "api.Wants", thrift: "application.TWants"},
	{plain: "api.Level", thrift: "application.TLevel"},
	{plain: "api.News", thrift: "application.TNews"},
	{plain: "api.ExecutorState", thrift: "application.TExecutorState"},
	{plain: "api.Grants", thrift: "application.TGrants"},
	{plain: "api.Grant", thrift: "application.TGrant"},
	{plain: "api.GrantEnd", thrift: "application.TGrantEnd"},

	{plain: "wire.Order", thrift: "peer.TOrder"},
	{plain: "wire.OrderReply", thrift: "peer.TOrderReply"},
	{plain: "wire.Holdings", thrift: "peer.THoldings"},
	{plain: "wire.HeldApplication", thrift: "peer.THeldApplication"},
	{plain: "wire.HeldExecutor", thrift: "peer.THeldExecutor"},
	{plain: "wire.Piece", thrift: "peer.TPiece"},
	{plain: "wire.Membership", thrift: "peer.TRoll"},
	{plain: "wire.MemberNode", thrift: "peer.TRollNode"},
	{plain: "wire.MemberFrontend", thrift: "peer.TRollFrontend"},
	{plain: "wire.DrainOrder", thrift: "peer.TDrainOrder"},
	{plain: "wire.DrainReply", thrift: "peer.TDrainReply"},
	{plain: "wire.BatchReply", thrift: "peer.TBatchReply"},
	{plain: "wire.ReportsReply", thrift: "peer.TReportsReply"},
	{plain: "wire.Inventory", thrift: "peer.TInventory"},
	{plain: "wire.SlotInventory", thrift: "peer.TSlotInventory"},
	{plain: "wire.InventoryReply", thrift: "peer.TInventoryReply"},
	{plain: "wire.SnapshotReply", thrift: "peer.TSnapshotReply"},
	{plain: "wire.JobView", thrift: "peer.TJobView"},
	{plain: "wire.RunningJobs", thrift: "peer.TRunningJobs"},
	{plain: "sched.JobID", thrift: "peer.TJobId"},
	{plain: "sched.AttemptID", thrift: "peer.TAttempt"},
	{plain: "sched.Attained", thrift: "peer.TAttained"},
	{plain: "wire.Departure", thrift: "peer.TDeparture"},
	{plain: "wire.Held", thrift: "peer.THeld"},
	{plain: "wire.Hello", thrift: "peer.THello"},
	{plain: "wire.HelloReply", thrift: "peer.THelloReply"},
	{plain: "wire.Ref", thrift: "peer.TRef", hand: "ref"}, // the zero one is none
	{plain: "wire.Slot", thrift: "peer.TSlot"},
	{plain: "wire.Snapshot", thrift: "peer.TSnapshot"},
}

// aliases lists the names of fields that differ in more than case or unit.
var aliases = map[string]string{
	"Class":         "JobClass",
	"Exit":          "ExitStatus",
	"Frontend":      "Distributor",
	"IdleReserve":   "IdleReserved",
	"Job":           "JobId",
	"Piece":         "Input",
	"RefusedLaunch": "Refused",
	"Scheduler":     "SchedulerAddress",
	"Stderr":        "StderrUrl",
	"Stdout":        "StdoutUrl",
}

// folders lists the folders of the pairs' packages, from the top of the module.
var folders = map[string]string{
	"api":         "internal/api",
	"application": "thrift/gen/application",
	"peer":        "thrift/gen/peer",
	"published":   "thrift/gen/published",
	"sched":       "internal/sched",
	"wire":        "thrift/wire",
}
