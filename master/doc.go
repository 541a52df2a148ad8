// Package master is the daemon that schedules one group of workers: a thin shell
// around the policy's master core.
//
//	frontends ──Tasks, Drop──▶ ┌─ inbox ─▶ core ─▶ actions ─▶ links ───┐ ──Launch, Kill──▶ node monitors
//	nodes ──Idle (NATS), ────▶ │           (one goroutine)             │ ──Serves, Returned, AttemptLost──▶ frontends
//	   Refused, Started, Beat, │                                       │
//	   snapshots               │  nodes, frontends ─▶ publication      │ ──membership (long poll)──▶ frontends, nodes
//	other masters ──Spare────▶ └───────────────────────────────────────┘ ──Spare──▶ other masters
//
// The master is a cache. It owns no fact: the frontends' journals record what is owed,
// the node monitors which attempts run, and both report it again when they register. So
// the master keeps nothing on disk, and its loss costs a new registration of its peers.
//
// # Parts
//
//	groupCore      the policy's core, its clock, timers and recording
//	nodes          registered node monitors, their slots and reachability
//	payloads       the data of tasks that the core never sees
//	frontends      registered frontends
//	siblings       the masters of other groups
//	publication    the membership, as fast as its readers allow
//	leaseRevoker   ends the leases of slots that tasks wait for
//
// The owner goroutine passes messages between them; they are independent of each other.
//
// # Which core
//
//	pigeon, pigeon-sort, pigeon-x               one master for each group, with its core
//	hawk, eagle, kairos, fifo, priority, static one master with the policy's core over all nodes
//	sparrow, peacock, random                    one master without a core: it publishes the membership
//
// Where there is one master it numbers the workers, and all daemons address a worker
// by that number; docs/adr/0008-single-master.md explains why. The masters of pigeon-sort
// and pigeon-x send each other a hello every second; one that does not answer for five
// seconds is lost, and nothing is offered to it.
//
// # Membership
//
// Package nodes describes the states of a node and of a worker's number. Messages that a
// frontend sends before it has registered are ignored: it registers with its next hello
// and then sends again everything that it wants the group to hold.
//
// The membership lists the nodes that are alive, with the numbers of their workers,
// and the frontends heard from within ten seconds. Two memberships are at least 20 ms
// apart, and 2 ms for each of their readers. Readers of an earlier master's membership
// are answered after two seconds, in which the daemons on it may register again.
//
// # Failures
//
//	master killed             its successor: epochs and numbers from what others report, held tasks adopted
//	two slots claim a number  the second is refused with the number; its node monitor is restarted
//	new node registers first  if a living one claims its numbers within 30 s, the new one is lost and restarted
//	new slot after a restart  no number for a second, so that others may claim theirs
//	frontend silent for 10 s  off the membership: workers drop their requests to it
//	other master silent       its offers are void, tasks stay in their group
//
// # Epochs
//
// A master starts at 1 + the highest epoch that any peer of its group reports;
// a later report that is higher, or equal and of another master, raises it again,
// before that peer is answered.
package master
