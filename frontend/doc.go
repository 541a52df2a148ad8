// Package frontend is the daemon that accepts jobs and distributes them: a thin
// shell around the policy's distributor core, with the journal.
//
//	application ──submit──▶ journal ──fsynced──▶ answer
//	                 └────▶ core ──Tasks──▶ masters
//	nodes ──Report──▶ core ──Persist──▶ journal ──fsynced──▶ acknowledgement, message to the application
//
// Under the policies that bind tasks late it exchanges messages with workers itself,
// and under peacock with other frontends:
//
//	core ──Probe──▶ nodes ──GetTask──▶ core ──Launch with its payload, or NoTask──▶ the node
//	core ──LoadShare──▶ other frontends
//
// # Components
//
//	frontend     services and their callers; assembles the rest (frontend.go, owner.go)
//	dispatch     the core, and its links to masters, nodes and other frontends
//	jobs         the table of jobs: state and status, and who observes it
//	attempts     where, when and how the attempts at tasks ran
//	after        jobs that start after others
//	quotas       what each owner has unfinished here, and its limits
//	staging      the files that are sent with jobs
//	outbox       effects that wait for the disk
//	journal      what is on the disk
//	keys         idempotency keys that hold for the whole cluster
//	usage        what jobs have used, for "pigeon history"
//	events       the newest events, for "pigeon events"
//	listeners    messages to applications
//	application  applications that bring their own executors; their grants are jobs
//	             of the core that are not journaled (grants.go)
//
// One goroutine, the owner, steps the core and touches all state in owner.go; callers post to
// its inbox.
//
// # What it owns
//
// Which tasks are owed, which attempt counts and which results were accepted
// (docs/design.md, section 2). All of it is in the journal before another process
// learns of it; distribution runs in parallel with the fsync and only the answers wait for it.
//
//	job: accepted ──▶ placed ──▶ ended (completed, failed, cancelled) ──retention──▶ forgotten
//
// Under late binding no task is placed: a task is bound to a worker or to none, and the
// binding is not journaled.
//
// # Failures
//
// A journal that cannot be written ends the daemon: nothing more is acknowledged, and
// a restart resumes from what is on the disk. Every second the frontend sends a hello
// to each master; a new incarnation of a master receives the tasks that it should hold. After
// five seconds without an answer its group counts as lost; four seconds later the tasks that no
// node has reported are distributed over the other groups, and those that nodes report stay
// there. When a node leaves the membership, the core tries its tasks and reservations elsewhere.
// A peer that is missing on the first membership of a new master has two seconds to register
// there. A frontend that was off the membership, or whose master was silent, probes once more for
// its unbound tasks, because workers drop its reservations. A restarted frontend adopts the tasks
// that workers report within two seconds; each of the others gets a new attempt and is probed
// for. A node that refuses messages counts as lost, and a second later as new. Messages to an
// application that cannot be reached wait for it, bounded in number, bytes and time; one that it
// may have received is never sent again. A job keeps its trace over a restart: the next process
// continues its span.
package frontend
