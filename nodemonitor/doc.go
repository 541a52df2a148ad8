// Package nodemonitor is the daemon on every machine: a thin shell around its
// worker cores, whatever the policy. A core is one slot, under Kairos several.
//
//	master ──Launch, Kill, SetReserved──────▶ ┌─ inbox ─▶ cores ─▶ outbox ─┐ ──Start, Suspend, Kill──▶ backends
//	frontends ──Probe, Launch, NoTask, Kill─▶ │      (one goroutine)       │ ──Report──▶ frontends (NATS, else Thrift)
//	nodes ──Steal, Stolen, Rotated──────────▶ │                            │ ──GetTask, ProbeRejected──▶ frontends (Thrift)
//	backends ──ended, registered, gone──────▶ │                            │ ──Steal, Stolen, Rotated──▶ nodes (Thrift)
//	frontends ──acknowledged, unknown───────▶ └────────────────────────────┘ ──Idle──▶ master (NATS, else Thrift)
//	                                                                           ──Refused, Started, Beat──▶ master (Thrift)
//
// It owns one fact: which attempt is where on this node, and what it does there
// (design.md, section 2). Under Pigeon and its variants only the master speaks to
// workers; what the second and third line show is said under the rivals alone.
//
// # A worker and its attempts
//
//	launched ──core starts it──▶ running ──core suspends it──▶ suspended
//	    │                          │  ◀─────core resumes it─────┘  │
//	    │                          └─── ended: done, failed, ... ──┴──▶ a kept result
//	    ├──core queues it──▶ waiting ──core starts it──▶ running
//	    └──core refuses it──▶ refused: wrong sequence number, old epoch, reserved, busy
//
// Pigeon's slot holds one attempt, pigeon-x's one suspended beside it, Kairos' node
// N running and Q suspended, and a worker of Hawk or Eagle the long tasks that wait
// for it, with what they are to do.
//
// # A reservation
//
//	Probe ──▶ in the core's queue ──the slot is free──▶ GetTask: a question is open
//	                                                       │ ◀─ asked again after some heartbeats
//	       Launch or NoTask of the frontend ◀──────────────┤
//	       NoTask of the shell ◀── the frontend is gone ───┘
//
// # A result
//
//	fresh ──one message per frontend after a batch──▶ told ──acknowledged──▶ forgotten
//	  ▲                                                │
//	  └────────── a heartbeat without an answer ───────┘
//
// A result is kept until its frontend has journaled it, or says that it does not
// know the job. There is a limit to them; at the limit launches are refused, or
// put off, rather than a result lost, and the slots turn idle again when there is
// room.
//
// # Its master
//
//	unregistered ──hello──▶ registered ──snapshot every heartbeat, and at any change of slots──▶ registered
//	      ▲                      │
//	      └── not known any more, or another process answers ◀┘
//	                 another has the numbers of this node's workers ──▶ the node monitor ends
//
// What is here goes on throughout; the hello tells it. Refusals go by Thrift, in
// order, with the idle notice of a free slot behind them.
//
// Where all daemons talk to workers, one master numbers them: cores are made when
// the first hello is answered, and keep their numbers. It also keeps the membership, which
// this node follows: who is there, where, as which process. A batch of somebody who
// is not on it yet has to come again; one of a process that was replaced is ignored.
//
// # Failures
//
//	NATS down or lossy           idle and reports go by Thrift; snapshots and repeats heal the rest
//	master down                  what is here goes on, hello is repeated for ever, the last membership holds
//	frontend down                its results are kept and repeated, its messages wait; where it is gone
//	                             from the membership, what it was asked is answered "no task"
//	this node taken for lost     what it was to be told is dropped: its workers ask again
//	another node down            what was for it is dropped; cores that knew it hear who is left
//	backend process gone         its attempts end as lost and are tried elsewhere, its slot is withdrawn
//	node monitor killed          its processes die with it (package guard); the next
//	                             incarnation starts every slot anew, the old attempts are void
//	node monitor told to stop    the slots are withdrawn, what is here is killed and reported lost
//
// Executors of applications and their grants are packages executor and grants;
// applications.go puts them beside the backends.
//
// docs/nodemonitor.md says what it answers when, docs/applications.md what
// executors are.
package nodemonitor
