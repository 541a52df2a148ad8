// Package history checks what happened in a run of a cluster under faults.
//
//	tasks write lines ─┐
//	clients' calls     ├─▶ Run ─▶ checks ─▶ findings
//	faults, samples   ─┘
//
// A [Run] holds four independent accounts: what the tasks' programs wrote themselves
// ([Event]), what clients were told ([Job]), which faults were injected ([Fault]), and
// what the daemons reported about themselves ([Slot], [Group], [Footprint], [Result]).
// Each check compares some of them and returns a finding for every contradiction. The
// checks have no clock and no I/O; [Read] and [Append] are the form of the lines that
// tasks write.
//
// # What is not checked here
//
// W, the bound of how many short tasks overtake a long one, cannot be seen from outside:
// the order in which a master takes tasks from its queues is not the order in which their
// programs start on several nodes. The simulator checks it at every step.
package history
