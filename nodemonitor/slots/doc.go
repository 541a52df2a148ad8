// Package slots steps the worker cores of a node and carries out their actions: it owns
// which attempt is at which worker of this node, and in which state (docs/design.md,
// section 2). A worker core is one slot, under Kairos several.
//
//	messages ──▶ [Workers.Deliver] ─▶ core ─▶ actions ─┬─▶ Start, Suspend, Kill ──▶ backends
//	backends ──▶ ended             ─▶ core ─▶ actions ─┼─▶ results
//	timers   ──▶ timeout           ─▶ core ─▶ actions ─┴─▶ outbox ──flush──▶ master, frontends, nodes
//
// [Workers] receives messages and events, and composes the parts that have state:
//
//	workerList  the workers by number, with their cores
//	attempts    the attempts at all of them, and which have started
//	stepper     steps a core and carries out its actions
//	fence       which attempts were started here: none is started twice
//	runner      starts and ends attempts in backends
//	requests    requests to frontends for tasks, until they are answered
//	admission   launches that the shell denies, and slots that are withheld
//	Outbox      the messages that are sent after a batch
//
// # A worker and its attempts
//
//	launched ──core starts it──▶ running ──core suspends it──▶ suspended
//	    │                          │  ◀─────core resumes it─────┘  │
//	    │                          └─── ended: done, failed, ... ──┴──▶ a kept result
//	    ├──core queues it──▶ waiting ──core starts it──▶ running
//	    └──core refuses it──▶ refused: wrong sequence number, old epoch, reserved, busy
//
// Pigeon's slot holds one attempt, pigeon-x's also a suspended one, Kairos' node N running and
// Q suspended, and a worker of Hawk or Eagle also the long tasks that wait for it, with their
// payloads.
//
// # A reservation
//
//	Probe ──▶ in the core's queue ──the slot is free──▶ GetTask: a request is open
//	                                                       │ ◀─ sent again after some heartbeats
//	       Launch or NoTask of the frontend ◀──────────────┤
//	       NoTask of the shell ◀── the frontend has left ──┘
//
// # Launches that the node denies
//
// A core cannot see that the node is stopping, that it keeps as many results as it may, or
// that a launch names no frontend. The shell denies such a launch, and the core refuses it
// for that reason. A slot that refused for lack of room is withheld: it is reported idle to
// the master only when there is room, or in turn when the frontend without room is silent.
package slots
