// Package queue holds the queues of a group master: one per class, and the idle
// workers, both indexed by application so that a task and a worker that may run
// it find each other without a scan.
//
//	App      one application (or "" for the built-in backends): its waiting runs
//	         per class, and the services that include it
//	Service  one set of applications that some workers serve: its idle workers
//	         per kind, and its applications
//	Run      consecutive tasks of one job, waiting together
//
// Both sides carry one sequence number, assigned at entry: the first waiting task
// for a worker is the lowest number among the heads of its service's
// applications, the first idle worker for a task the lowest among the heads of
// its application's services. In the papers' settings there is one application
// and one service, and each takes one look. Cost grows with the applications a
// worker serves, never with tasks or workers.
package queue
