// Package viaspark runs a workload live as bench/replay does, through Spark: K
// drivers, each a Spark application of its own, get every K-th job and run it as a
// Spark job of sleeping tasks. The outcome has the form that the simulator and
// bench/replay give theirs in.
//
//	             jobs, "end", "start"                    Spark's own scheduler, grants
//	workload ─┬─ standard input ──▶ driver 0 (spark-submit) ──────▶ executors
//	          ├──────────────────▶ driver 1, maybe by ssh   ──────▶    of all drivers
//	          │◀─ standard output ─ {"ready"}, {"job"} ...             share the slots
//	          └─▶ Outcome, events, errors of drivers that died
//
// The driver's program is the class Main of Pigeon's plugin for Spark. It runs under
// any master of Spark, so that other cluster managers are measured by the same
// program. A driver gets its jobs and the word to start on its standard input: no
// file has to be on its machine, no clock is compared with that of another machine,
// and a driver whose starter is gone ends, since its input does.
//
// # What is alike, and what is not
//
// Job number k of the workload is driver k mod K's. Its class is the declared one,
// its estimate that of the workload, its tasks sleep for their durations, and it is
// submitted when it is due, whatever became of those before it. The clock starts when
// all drivers are ready: their executors are there, and have run something.
//
// Within one driver Spark's scheduler decides whose task is next among those of the
// same class; among drivers Pigeon does.
//
// # What is measured
//
// All times of a job are its driver's, by one clock: the completion time from the
// submission to the last task's result; the queueing delay of a task from there to
// its result, less the time it ran, so that it holds the ways of the grant, the task
// and the result. A job's arrival is counted from when its driver was told to start.
//
// # Failures
//
// A driver that ends before all are ready ends the replay: its error holds the last
// that it said. One that dies later is told of at once, and the others go on; jobs of
// which it did not tell have not ended, and the outcome is marked partial. A replay
// that is ended early closes every driver's input, gives them some seconds, and then
// kills what is left.
package viaspark
