// Package leastwait is the central scheduler of Hawk and Eagle: a master over all
// workers that places each long task at the worker of the general partition with
// the least waiting time ("Hawk: Hybrid Datacenter Scheduling", ATC 2015, section
// 3.2).
//
//	distributor ──Tasks──▶ master ──Launch──▶ worker   queues it behind what it has
//	                       master ◀─Started── worker
//	                       master ◀──Idle──── worker   it ended
//
// A worker's waiting time is the sum of the estimates of the long tasks assigned
// to it that did not start, and what is left of the running one by its estimate;
// short work is not known here. Tasks are placed one by one; ties go to the
// lowest number. The reserved partition is the first round(share x workers).
//
// Worked numbers: three general workers, A with one task of estimate 20 s that
// started 15 s ago, B with one of 10 s started 11 s ago, C idle with one of 4 s
// assigned: they wait 5, 0 and 4 s. Three tasks of 3 s go to B (then 3), B (6), C
// (7).
//
// # Waiting times without a scan
//
// The rest of a running task shrinks with time, and stays 0 once it outlasts its
// estimate. Workers are therefore kept in two heaps: those whose task is within its
// estimate by the instant at which their work would be done, which does not move,
// and all others by the work assigned, which does not either. One that outlasts its
// estimate is moved when it comes to the top of the first heap; before that its key
// there is below its true one, so it is never passed over.
//
// # Failures
//
// When a worker is lost, the task that ran there is reported to its distributor as
// lost, and those that did not start are placed again here. A master that was started
// again is sent all unfinished tasks; they wait a second for the nodes to report what
// they hold, which it adopts, and are then placed (package recovery). A running task
// counts with the rest of its estimate: a node reports how long it has run.
package leastwait
