// Package executors runs the executors of applications: processes that stay on the
// node between pieces of work, children of the guard like every real process here.
//
//	frontend ──order: these executors live─▶ Manager ──start, kill──▶ guard ──▶ executor
//	         ◀──holdings: their states──────   │  ▲                             │
//	                                            │  └──────── ended ◀─────────────┘
//	                                            └─▶ grants.Table: who may attach; slots held
//
// # An order
//
// An order lists all executors that a frontend wants of one application here, so it may
// arrive twice, late, or never. The node follows the highest tenure, which a frontend
// obtains when an application registers with it; an executor that another frontend
// ordered continues when the new order lists it.
//
// # The life of an executor
//
//	ordered ──no memory, no slots, no runtime, application not reachable──▶ refused
//	   │
//	   ▼
//	starting: files fetched, runtime found, address tried, folder made,
//	   │      its slots held (one that takes no grants) ──node drains──▶ ended
//	   ▼
//	running ──exit, kill──▶ ended ──100 later ends, or the application's──▶ forgotten
//
// The id of an executor that was refused or has ended is not used again: the frontend
// orders another. Its log can be read until the application is over.
//
// # The life of an application
//
//	unknown ──first order──▶ held ──order: over, or its frontend silent for the lease──▶ ending
//	   ▲                                                                                   │
//	   └────────── executors gone (SIGTERM, SIGKILL after the grace), folder removed ◀─────┘
//
// # Failures
//
//	executor ends              its grants end, its slots are free; the frontend orders another
//	frontend silent            the lease ends its applications, unless another frontend took them over
//	node monitor killed        the guard kills every executor; the next process
//	                           starts without executors and removes the folders
//	guard killed               its executors die with it and are reported as ended
package executors
