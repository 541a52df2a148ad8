// Package launch measures the scheduler itself, on an idle cluster that has
// nothing to wait for but the scheduler:
//
//	Latency   single tasks, one after another: from the submission to the start of
//	          the task, and from its end until its submitter is informed
//	Rate      many equal tasks on a number of slots, after Reuther et al.,
//	          "Scalable system scheduling for HPC and big data" (2018): total time,
//	          overhead per task, utilization
//
// Both are clients like any other: they submit over Thrift and long-poll for the
// end. On a cluster in this process the client's share is part of the processor
// time and memory in the result; on a cluster of processes it is not.
//
// The start and the end of a task are measured by its node's wall clock and read from
// the frontends' histories, so Latency needs its own cluster, on one host.
package launch
