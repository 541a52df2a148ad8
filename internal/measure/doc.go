// Package measure turns what happened in a run into the figures that are
// reported, the same for a simulated and a live run.
//
//	jobs, task delays ──▶ Collector ──Result(Facts)──▶ Result ──▶ one JSON object, a row of a Table
//	events ──▶ HistoryWriter ──▶ one JSON object per line ──▶ HistoryReader
//	Workload ──▶ Clairvoyant, longest tasks ──▶ the bounds that a Result is read against
//	cores ──▶ StatePeak ──▶ State: what each role has to remember, in bytes and entries
//
// Completion time is from a job's arrival to its last task's report; queueing
// delay is per task, from its job's arrival to its start; slowdown is
// completion time over the job's longest task. Results are grouped by the true
// class. Failed jobs are counted and are not part of the distributions.
//
// Percentiles are interpolated linearly between order statistics (NumPy's
// default). A figure without any job or task (the long class of a
// one-class workload) is null in JSON and NaN in Go: the keys are always
// there, and a script never mistakes "none" for "zero seconds". JSON never
// holds NaN or an infinity.
//
// Nothing here keeps goroutines or locks: a Collector or HistoryWriter
// belongs to the one goroutine that feeds it.
package measure
