// Package executor runs the executors of applications: processes of their own
// that lie warm on the node, children of the guard like every real process here.
//
//	frontend ──order: these executors live──▶ Keeper ──start, kill──▶ guard ──▶ executor
//	         ◀──holdings: how they fare──────   │  ▲                             │
//	                                            │  └──────── ended ◀─────────────┘
//	                                            └─▶ grants.Table: who may attach; slots held
//
// # An order
//
// It says all that a frontend wants of one application here, so it may come twice,
// late, or never. The node follows the highest tenure, which a frontend takes when
// an application registers with it; what another one ordered goes on to live when
// the new order names it.
//
// # The life of an executor
//
//	ordered ──no memory, no slots, no runtime, no way to the application──▶ refused
//	   │
//	   ▼
//	starting: files fetched, runtime found, address tried, folder made,
//	   │      its slots held (one that takes no grants)
//	   ▼
//	running ──exit, kill──▶ ended ──100 later ends, or the application's──▶ forgotten
//
// A refused or ended id never lives again: the frontend orders another. Its log
// stays readable until the application is over.
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
//	frontend silent            the lease ends its applications, unless another took them over
//	node monitor killed        the guard kills every executor; the next process
//	                           begins with nothing and removes the folders
//	guard killed               its executors die with it and are told as ended
package executor
