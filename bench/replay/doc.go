// Package replay runs a workload live: it submits every job when it is due, to a
// cluster that it starts or to a running one, and returns the outcome in the form of
// the simulator.
//
//	workload ─▶ generator ──submit, at absolute due times──▶ frontend of the job
//	               └─▶ watchers ──long-poll until it ended──▶ completion, counted there
//	                               histories of the frontends ─▶ queueing of every task
//
// # What is equal
//
// The job of line k goes to frontend k mod frontends, its key is its line number
// and its class is the declared one, so the draws of the policy, keyed by job, are
// those of the simulator. Tasks sleep for their durations. The load is open: a job
// is submitted when it is due, whatever the state of the jobs before it.
//
// # What is measured
//
// The completion time of a job is counted by its frontend, from the arrival of
// the job to the report of its last task, by one clock; the delay of a watcher
// does not matter. The queueing delay of a task is the time from the arrival of
// its job to its report, less the time it ran, by the frontend's clock too; it
// includes the transit of the launch and of the report. It comes from the frontends'
// histories, and so is known only on a cluster that was started for the replay.
//
// # Failures
//
// A request that a frontend does not answer is repeated for as long as the replay
// lasts; the same key is the same job. A refusal that a retry cannot change ends
// the replay. A replay that is ended early returns the jobs that had ended by then, marked
// partial.
package replay
