// Package nodemonitor is the daemon on every machine: a thin shell around its
// worker cores, one for each slot.
//
//	master ──Launch, Kill, SetReserved──▶ ┌─ inbox ─▶ cores ─▶ outbox ─┐ ──Start, Kill──▶ backends
//	backends ──ended, registered, gone──▶ │      (one goroutine)       │ ──Report──▶ frontends (NATS, else Thrift)
//	frontends ──acknowledged, unknown───▶ └────────────────────────────┘ ──Idle──▶ master (NATS, else Thrift)
//	                                                                       ──Refused──▶ master (Thrift)
//
// It owns one fact: which attempt runs in which slot (design.md, section 2).
//
// # A slot
//
//	idle ──launch accepted──▶ busy ──the backend says done, failed, killed or lost──▶ idle
//	 │ ▲                                                                   │
//	 └─┘ launch refused: wrong sequence number, old epoch, reserved        └──▶ a kept result
//	busy ──another launch──▶ refused, still busy
//
// # A result
//
//	fresh ──one message per frontend after a batch──▶ told ──acknowledged──▶ forgotten
//	  ▲                                                │
//	  └────────── a heartbeat without an answer ───────┘
//
// A result is kept until its frontend has journaled it, or says that it does not
// know the job. There is a limit to them; at the limit launches are refused
// rather than a result lost, and the slots turn idle again when there is room.
//
// # Its master
//
//	unregistered ──hello──▶ registered ──snapshot every heartbeat, and at any change of slots──▶ registered
//	      ▲                      │
//	      └── not known any more, or another process answers ◀┘
//
// What runs goes on throughout; the hello tells it. Refusals go by Thrift, in
// order, with the idle notice of a free slot behind them.
//
// # Failures
//
//	NATS down or lossy           idle and reports go by Thrift; snapshots and repeats heal the rest
//	master down                  what runs goes on, hello is repeated for ever
//	frontend down                its results are kept and repeated, its messages wait
//	backend process gone         its attempts end as lost and are tried elsewhere, its slot is withdrawn
//	node monitor killed          its processes die with it (package guard); the next
//	                             incarnation starts every slot anew, the old attempts are void
//	node monitor told to stop    the slots are withdrawn, what runs is killed and reported lost
//
// docs/nodemonitor.md says what it answers when.
package nodemonitor
