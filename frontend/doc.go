// Package frontend is the daemon that accepts jobs and distributes them: a thin
// shell around the policy's distributor core, with the journal beside it.
//
//	application ──submit──▶ journal ──fsynced──▶ answer
//	                 └────▶ core ──Tasks──▶ masters
//	nodes ──Report──▶ core ──Persist──▶ journal ──fsynced──▶ ack to the node, application told
//
// # What it owns
//
// Which tasks are owed, which attempt counts and which results were accepted
// (design.md, section 2). All of it is in the journal before anybody outside is
// told; distribution runs beside the fsync and only the answers wait for it.
//
//	job: accepted ──▶ placed ──▶ ended (completed, failed, cancelled) ──retention──▶ forgotten
//
// # Failures
//
// A journal that cannot be written ends the daemon: nothing more is
// acknowledged, and a restart resumes from what is on the disk. Masters say who
// they are every second; a new incarnation of one is sent what it should hold,
// and after five seconds without one its tasks are distributed again.
// Messages to an application that cannot be reached wait for it, bounded in number,
// bytes and time; one that it may have got is never sent again. A job keeps its
// trace over a restart: the spans of the next process go below those of the last.
package frontend
