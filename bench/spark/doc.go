// Package spark measures Spark on Pigeon against Spark's own cluster manager, with
// real daemons and real executors on this machine:
//
//	Waves    500 sleeping tasks on two slots: the cost of grants
//	Sharing  three drivers with streams of short jobs alongside one with a long job
//
// The Spark drivers are those of bench/spark/driver, under spark-pigeon:// or
// spark://.
//
// Every measure is a ratio of two times that were measured in turns, in the same
// minutes: the machine may have other work. Drivers are the same program under
// both managers; their executors are warm.
//
// No process is left (internal/childproc); a driver also ends with its standard input.
//
// # Failures
//
// A process that ends by itself, a job that fails, or an answer that does not come
// within the time of its measure ends the measurement, with the end of its log. A
// limit that is not met is marked in the table and fails nothing.
package spark
