// Package webpage serves the page of a cluster: its nodes with their slots, queues and leaders,
// jobs with the reason why each waits, and the output of tasks.
//
//	GET /                the page; its parts are GET /page/NAME
//	GET /page/events     the state as server-sent events: all of it first, then what changed
//	GET /page/jobs       a page of older jobs
//	GET /page/explain    why a job waits, or how it ended
//	GET /page/log        a piece of the output of a task
//	GET /page/shares     how slots are shared between owners
//	GET /api/state       groups with their nodes and the newest jobs, at once
//
// The page of a frontend also has the names and states of the jobs of other frontends
// ([Other]), which explain their jobs themselves.
//
//	sources ──read, while there are viewers──▶ board ──what changed since──▶ viewer, viewer, …
//
// Everything is embedded in the program and nothing is loaded from elsewhere. The page shows
// what a [Source] returns, such as a frontend, and changes nothing. What a viewer may see of a
// job is decided by package access for the principal of the request.
//
// While there is no viewer, nothing is read. However many there are, the sources are read once a
// second, or more rarely, so that reading takes about half a percent of a processor. No viewer
// has a queue: each receives what changed since its last event, so one that reads slowly skips
// states. There may be MaxViewers at a time, a few of them of one user or from one address; a viewer that takes nothing for 10 seconds is
// disconnected, and each reconnects after ten minutes, when its identity is checked again.
package webpage
