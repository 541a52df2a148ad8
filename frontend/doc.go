// Package frontend is the daemon that accepts jobs and distributes them: a thin
// shell around the policy's distributor core, with the journal beside it.
//
//	application ──submit──▶ journal ──fsynced──▶ answer
//	                 └────▶ core ──Tasks──▶ masters
//	nodes ──Report──▶ core ──Persist──▶ journal ──fsynced──▶ ack to the node, application told
//
// Under the policies that bind tasks late it speaks to workers itself, and under
// peacock to other frontends:
//
//	core ──Probe──▶ nodes ──GetTask──▶ core ──Launch with its cargo, or NoTask──▶ the node
//	core ──LoadShare──▶ other frontends
//
// Applications that bring their own executors are package application's; their
// grants are jobs of the core that are not journaled (applications.go).
//
// # What it owns
//
// Which tasks are owed, which attempt counts and which results were accepted
// (design.md, section 2). All of it is in the journal before anybody outside is
// told; distribution runs beside the fsync and only the answers wait for it.
//
//	job: accepted ──▶ placed ──▶ ended (completed, failed, cancelled) ──retention──▶ forgotten
//
// Where tasks are bound late nothing is placed: a task is at no worker or at one,
// and that is not journaled.
//
// # Whom it knows
//
// Masters by their addresses, which are settings. Under policies with one master
// (plan.go) nodes and other frontends by that master's membership, which is followed by a
// long poll: each change is entered into the address map and the links, and stepped into
// the core as Members. The master alone decides who is alive. A batch of a process
// that is not on the membership yet is put off, one of a process that was replaced is
// ignored.
//
//	master ──Roll──▶ peers ──┬─▶ addrs: number ⇄ node and slot
//	                         ├─▶ links: a way to each, opened when it is needed
//	                         └─▶ core: Members
//
// # Failures
//
// A journal that cannot be written ends the daemon: nothing more is
// acknowledged, and a restart resumes from what is on the disk. Masters say who
// they are every second; a new incarnation of one is sent what it should hold,
// and after five seconds without one its tasks are distributed again.
// A node that leaves the membership takes its tasks and reservations with it; the core
// tries them elsewhere. Who is not on the first membership of a new master has two
// seconds to register there. A frontend that was off the membership, or silent, probes
// once more for what is unbound, because workers let go of its reservations; so
// does one that was started again, with a new attempt for every unfinished task.
// A node that refuses messages passes for lost, and a second later for new.
// Messages to an application that cannot be reached wait for it, bounded in number,
// bytes and time; one that it may have got is never sent again. A job keeps its
// trace over a restart: the spans of the next process go below those of the last.
package frontend
