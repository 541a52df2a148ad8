// Package driver runs a driver of Spark that executes commands: the class Bench of
// Pigeon's plugin, under any master of Spark, so that cluster managers are measured by
// the same program.
//
//	Send, Ask ─ standard input: a command a line ──────▶ driver (spark-submit)
//	Answers  ◀─ standard output: a JSON object a line ──┘  its log: standard error
//
// The first answer is that the driver is ready. Then each command has one answer, the
// seconds that it took; a replay has a record of each of its jobs before (Record). Jobs
// of a replay are sent before it, and are not answered (WriteJobs).
//
// No file has to be on the driver's machine, and no clock is compared with that of
// another machine. A driver ends with its standard input, and so with this program,
// whatever ended that, also over ssh.
package driver
