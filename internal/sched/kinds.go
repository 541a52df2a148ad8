package sched

import "fmt"

// String returns the kind's name, as recordings and descriptions print it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

var kindNames = [numKinds]string{
	KindNone: "None", Submit: "Submit", Cancel: "Cancel", MasterUp: "MasterUp", MasterLost: "MasterLost",
	Restored: "Restored", Placed: "Placed", NewAttempt: "NewAttempt", TaskEnded: "TaskEnded", JobEnded: "JobEnded",
	Tasks: "Tasks", Drop: "Drop", Serves: "Serves", Returned: "Returned", AttemptLost: "AttemptLost", Holding: "Holding",
	Launch: "Launch", Kill: "Kill", SetReserved: "SetReserved", Idle: "Idle", Refused: "Refused", Report: "Report",
	WorkerUp: "WorkerUp", WorkerLost: "WorkerLost", WorkerServes: "WorkerServes", EpochIs: "EpochIs",
	Ended: "Ended", Timeout: "Timeout",
	Members: "Members", Probe: "Probe", CancelProbe: "CancelProbe", ProbeRejected: "ProbeRejected", GetTask: "GetTask",
	NoTask: "NoTask", Started: "Started", Steal: "Steal", Stolen: "Stolen", Rotated: "Rotated", LoadShare: "LoadShare", Beat: "Beat",
	Spare: "Spare", Preempt: "Preempt", Continue: "Continue", Yield: "Yield", Reclass: "Reclass",
	DistributorUp: "DistributorUp", Held: "Held", ResultsKept: "ResultsKept", NotLost: "NotLost", DistributorAway: "DistributorAway", SetShares: "SetShares",
	GangLoad: "GangLoad",
}
