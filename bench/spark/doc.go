// Package spark measures Spark on Pigeon against Spark's own cluster manager, with
// real daemons and real executors on this machine:
//
//	Waves    500 sleeping tasks on two slots: what a grant costs each of them
//	Sharing  three drivers with streams of short jobs beside one with a long job
//	Trip     how long a grant is waited for on an idle cluster
//	First    from spark-submit to the end of the first task
//
//	        ┌─ stdin: a command a line ──▶ driver (org.pigeonsched.spark.bench.Bench)
//	 Suite ─┤                                │ under spark-pigeon:// or spark://
//	        └◀─ stdout: an object a line ─────┘
//
// Every measure is a ratio of two things that were measured in turns, in the same
// minutes: the machine may have other work. Drivers are the same program under
// both managers; their executors are warm where the measure is not about starting
// them.
//
// # What is left behind
//
// Nothing: daemons, drivers and executors are in process groups that are ended
// with the suite, told by the kernel if this process is killed; a driver also ends
// with its standard input.
//
// # Failures
//
// A process that ends by itself, a job that fails, or an answer that does not come
// within the time of its measure ends the measurement, with the end of its log. A
// limit that is not met is told in the table and fails nothing.
package spark
