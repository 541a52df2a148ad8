// Package sparkreplay runs a workload live as bench/replay does, through Spark: each
// of K drivers, a Spark application each, gets every K-th job and runs it as a Spark job
// of sleeping tasks. The outcome has the same form as those of the simulator
// and of bench/replay.
//
//	             jobs, "replay"                          Spark's own scheduler, grants
//	workload ─┬─ standard input ──▶ driver 0 (spark-submit) ──────▶ executors
//	          ├──────────────────▶ driver 1, maybe by ssh   ──────▶    of all drivers
//	          │◀─ standard output ─ {"ready"}, {"job"} ...             share the slots
//	          └─▶ outcome, events, errors of drivers that ended early
//
// The drivers and their commands are those of bench/spark/driver.
//
// # What is equal, and what is not
//
// Job k of the workload belongs to driver k mod K. Its class is the declared one,
// its estimate that of the workload, its tasks sleep for their durations, and it is
// submitted when it is due, whatever the state of the jobs before it. The clock starts when
// all drivers are ready: they have their executors, which have run something, and their
// jobs.
//
// Within one driver Spark's scheduler chooses among the tasks of one class; among
// drivers Pigeon does.
//
// # What is measured
//
// All times of a job are its driver's, by one clock: the completion time from the
// submission to the last task's result; the queueing delay of a task from there to
// its result, less the time it ran, so that it includes the transit of the grant, the
// task and the result. The arrival of a job counts from the start command to its driver.
//
// # Failures
//
// A driver that ends before all are ready ends the replay: its error includes the end
// of its log. One that ends later is reported at once, and the others continue; the jobs of
// which it wrote no record have not ended, and the outcome is marked partial. A replay
// that is ended early closes every driver's input, and kills after some seconds the
// drivers that still run.
package sparkreplay
