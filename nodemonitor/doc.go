// Package nodemonitor is the daemon on every machine: it runs the worker cores of the
// policy, one for each slot (under Kairos one for several), and carries out their actions.
// It owns one fact: which attempt is at which worker of this node, and in which state
// (docs/design.md, section 2).
//
//	master ──Launch, Kill, SetReserved──────▶ ┌─ inbox ─▶ cores ─▶ outbox ─┐ ──Start, Suspend, Kill──▶ backends
//	frontends ──Probe, Launch, NoTask, Kill─▶ │      (one goroutine)       │ ──Report──▶ frontends (NATS, else Thrift)
//	nodes ──Steal, Stolen, Rotated──────────▶ │                            │ ──GetTask, ProbeRejected──▶ frontends (Thrift)
//	backends ──ended, registered, gone──────▶ │                            │ ──Steal, Stolen, Rotated──▶ nodes (Thrift)
//	frontends ──acknowledged, unknown───────▶ └────────────────────────────┘ ──Idle──▶ master (NATS, else Thrift)
//	                                                                           ──Refused, Started, Beat──▶ master (Thrift)
//
// Under Pigeon and its variants only the master sends messages to workers; the second
// and the third line exist only under the rivals.
//
// # The parts
//
//	slots         the worker cores, the attempts at them, launches and their refusal
//	results       how attempts ended, kept and reported until acknowledged
//	inventory     what this node holds of each frontend, which names what it does not want
//	registration  hello and snapshots to the master
//	members       frontends and other nodes, under policies whose workers address them
//	backends      everything that runs tasks, with these below it:
//	  backend     what a backend is; sleep, process with guard, logs and cgroup, app
//	  accounts    the users as whom processes run
//	  staging     the files that are sent with jobs
//	  grants      the slots on offer to applications for pieces of their work
//	  executors   the processes of applications that stay on the node
//	disk          whether the disk of the work folder takes what tasks write
//	connections   connections by address
//
// This package composes them: New opens ports and folders, Run serves. The owner
// goroutine is the only one that touches slots, results, inventory and members; everything else
// reaches them through its inbox.
//
//	deliveries, backends, timers, calls ──event──▶ loop ──▶ owner.handle ──▶ slots, results, members
//	                                                                  └──flush──▶ links, notices, calls
//
// # Failures
//
//	NATS down or lossy           idle and reports go by Thrift; snapshots and repeats repair the rest
//	master down                  attempts continue, hello is repeated forever, the last
//	                             membership holds
//	frontend down                its results are kept and repeated, its messages wait; when it has
//	                             left the membership, requests to it are answered "no task"
//	this node counts as lost     messages to it are dropped: its workers send their requests again
//	another node down            messages to it are dropped; the cores receive the remaining members
//	backend process vanishes     its attempts end as lost and are tried elsewhere, its slot is withdrawn
//	disk full or broken          nothing new is taken until it is not; what could not begin is given back
//	node monitor killed          the guard keeps its processes for restart_grace; the next
//	                             process of the node continues them, and the rest is void
//	stopped to be restarted      the same, and sleeping tasks and kept results are handed over
//	node monitor stopped         all attempts are killed and given back, which counts as no loss; then
//	                             the slots leave
//
// docs/nodemonitor.md lists the answers to each message, docs/applications.md describes
// executors.
package nodemonitor
