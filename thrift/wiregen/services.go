package main

// services lists the methods whose handlers and clients only translate. The others are written by hand in
// package wire.
var services = []service{
	{name: "published.SchedulerService", handler: "schedulerHandler", target: "h.Scheduler", client: "SchedulerClient", receiver: "s", calls: []call{
		{method: "JobStatus", port: "Jobs.Status", tried: "asking for a job's status"},
		{method: "WaitJob", port: "Jobs.Wait", tried: "waiting for a job"},
		{method: "CancelJob", port: "Submission.Cancel", tried: "cancelling a job"},
		{method: "ExplainJob", port: "Jobs.Explain", tried: "asking why a job waits"},
		{method: "TaskLog", port: "Jobs.TaskLog", tried: "reading a task's output"},
		{method: "TaskInput", port: "Submission.TaskInput", tried: "giving a task its standard input", checked: true},
		{method: "StageFiles", port: "StagedFiles.StageFiles", tried: "announcing the staged files of a job"},
		{method: "StagePiece", port: "StagedFiles.StagePiece", tried: "sending a staged file"},
		{method: "History", port: "Jobs.History", tried: "asking for the history of jobs"},
		{method: "Events", port: "Jobs.Events", tried: "asking for events"},
		{method: "ListNodes", port: "Cluster.Nodes", tried: "listing nodes"},
		{method: "ForgetNode", port: "Cluster.ForgetNode", tried: "forgetting a node"},
		{method: "ListShares", port: "Cluster.Shares", tried: "listing shares"},
		{method: "Identify", port: "Cluster.Identify", tried: "asking which frontend answers"},
		{method: "DrainNode", port: "Cluster.DrainNode", tried: "draining a node"},
		{method: "ResumeNode", port: "Cluster.ResumeNode", tried: "resuming a node"},
	}},
	{name: "peer.PeerService", handler: "peerHandler", target: "h.ports.", client: "PeerClient", receiver: "p", calls: []call{
		{method: "Snapshot", port: "Registrar.Snapshot", tried: "sending a heartbeat to a master", checked: true},
		{method: "Roll", port: "MembershipSource.Membership", tried: "fetching the membership of a master", of: "Membership", is: "master"},
		{method: "JobView", port: "GroupViewer.JobView", tried: "asking a master about a job", of: "Group", is: "master"},
		{method: "RunningAttempts", port: "GroupViewer.RunningAttempts", tried: "asking a master where a task runs", of: "Group", is: "master"},
		{method: "RunningJobs", port: "GroupViewer.RunningJobs", tried: "asking a master which jobs run", of: "Group", is: "master"},
		{method: "MasterState", port: "GroupViewer.MasterState", tried: "asking a master about its group", of: "Group", is: "master"},
		{method: "ForgetNode", port: "GroupViewer.ForgetNode", tried: "having a master forget a node", of: "Group", is: "master"},
		{method: "GroupOwners", port: "GroupViewer.GroupOwners", tried: "asking a master about owners", of: "Group", is: "master"},
		{method: "TaskLog", port: "LogReader.AttemptLog", tried: "reading an attempt's output", of: "Logs", is: "node monitor"},
		{method: "TaskInput", port: "InputReceiver.AttemptInput", tried: "giving an attempt its standard input", checked: true},
		{method: "OrderExecutors", port: "ExecutorManager.OrderExecutors", tried: "ordering executors", checked: true},
		{method: "Holdings", port: "ExecutorManager.Holdings", tried: "asking a node for its executors", checked: true},
		{method: "FilePiece", port: "FileKeeper.FilePiece", tried: "fetching a file of an application", of: "Files", is: "frontend"},
		{method: "Drain", port: "DrainReceiver.Drain", tried: "draining a node", checked: true},
	}},
	{name: "application.ApplicationService", handler: "ownersHandler", target: "h.owners", client: "ApplicationClient", receiver: "c", calls: []call{
		{method: "RegisterApplication", port: "ExecutorOwners.RegisterApplication", tried: "registering an application", checked: true},
		{method: "Want", port: "ExecutorOwners.Want", tried: "stating what an application wants", checked: true},
		{method: "News_", port: "ExecutorOwners.News", tried: "waiting for news of an application"},
		{method: "EndApplication", port: "ExecutorOwners.EndApplication", tried: "ending an application"},
	}},
	{name: "application.ExecutorService", handler: "granterHandler", target: "h.granter", client: "GrantClient", receiver: "g", calls: []call{
		{method: "AttachExecutor", port: "Granter.AttachExecutor", tried: "attaching an executor"},
		{method: "AwaitGrants", port: "Granter.AwaitGrants", tried: "waiting for grants"},
		{method: "EndGrants", port: "Granter.EndGrants", tried: "ending grants"},
	}},
}
