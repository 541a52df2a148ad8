// Package backend declares what runs a task on a node: the types that the node monitor
// and its backends share. The backends are packages below this one.
//
//	          Start(task, done)                done(result), once
//	slot ───────────────────────▶ backend ───────────────────────▶ slot
//	          Kill, Suspend, Resume
//
//	sleep    a heap of due times; nothing runs
//	process  real processes ("exec"), under a guard that outlives the node monitor
//	app      processes of an application that speak the published BackendService
//	guard    the small process that starts, watches and reaps real processes
//	logs     what real processes wrote, and which attempt wrote it
//
// # The life of an attempt in a backend
//
//	Start ──▶ running ──▶ ended: done, failed, killed, lost, yielded
//	            │  ▲
//	    Suspend ▼  │ Resume
//	         suspended ──▶ ended
//
// A start that cannot be (no such program, no backend of that application) ends
// the attempt like any other end; Start itself never fails. Failed is the task's
// own doing (a non-zero exit, a program that is not there). Lost is not: the
// process that ran the task went away, and how far it came is not known, or the node
// was too short of processes, memory or open files to start one. Yielded
// is an attempt that the backend gives back, and that counts
// for nothing: the node drains or its node monitor ends, files that the task
// needs cannot be fetched now, or its disk does not take what tasks write.
//
// # When done is called
//
// Exactly once for every Start, from any goroutine, and possibly before Start,
// Kill or Close return: a sleep of no length is done at once. No lock is held
// during the call, so done may call Start, Kill, Suspend and Resume again, but not
// Close, which waits for it. A slot that is stepped by one goroutine must put the
// result into its inbox instead of waiting for itself.
package backend
