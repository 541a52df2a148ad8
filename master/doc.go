// Package master is the daemon that schedules one group of workers: a thin shell
// around the policy's master core.
//
//	frontends ──Tasks, Drop──▶ ┌─ inbox ─▶ core ─▶ actions ─▶ links ───┐ ──Launch, Kill──▶ node monitors
//	nodes ──Idle (NATS), ────▶ │           (one goroutine)             │ ──Serves, Returned, AttemptLost──▶ frontends
//	   Refused, Started, Beat, │                                       │
//	   snapshots               │  nodes, frontends ─▶ publication      │ ──membership (long poll)──▶ frontends, nodes
//	other masters ──Spare────▶ └───────────────────────────────────────┘ ──Spare──▶ other masters
//
// The master is a cache. It owns no fact: what is owed is in the frontends'
// journals, what runs is known to the node monitors, and both report it again when
// they register. So it keeps nothing on disk, and losing it is a
// re-registration.
//
// # Parts
//
//	groupCore      the policy's core, its clock, timers and recording
//	nodes          registered node monitors, their slots and reachability
//	payloads       what travels with tasks and the core never sees
//	frontends      registered frontends
//	siblings       the masters of other groups
//	publication    the membership, as fast as its readers allow
//	leaseRevoker   ends the leases of slots that tasks wait for
//
// The owner passes messages between them; they do not know each other.
//
// # Which core
//
//	pigeon, pigeon-sort, pigeon-x               one master for each group, with its core
//	hawk, eagle, kairos, fifo, priority         one master with the policy's core over all nodes
//	sparrow, peacock                            one master without a core: it publishes the membership
//
// Where there is one master it numbers the workers, and all daemons know a worker by
// that number; docs/adr/0008-single-master.md says why. The masters of pigeon-sort and
// pigeon-x say hello to each other each second; one that does not answer for five
// is lost, and nothing is offered to it.
//
// # Membership
//
// Package nodes has the life of a node and of a worker's number. What a frontend
// sends before it has registered is ignored: it registers with its next hello and
// then sends all that the group is to hold.
//
// The membership lists the nodes that are alive, with the numbers of their workers,
// and the frontends that were not silent for ten seconds. Two memberships are at
// least 20 ms apart, and 2 ms for each of their readers. Readers of an earlier
// master's membership are answered when the daemons that were on it have had two
// seconds to register again.
//
// # Failures
//
//	master killed             its successor: epochs and numbers from what others report, held tasks adopted
//	two slots claim a number  the second is refused with the number; its node monitor starts anew
//	new slot after a restart  no number for a second, so that others may claim theirs
//	frontend silent for 10 s  off the membership: workers drop what they wait for from it
//	other master silent       its flags are void, tasks stay in their group
//
// # Epochs
//
// A master starts at 1 + the highest epoch that any peer of its group reports;
// a later report that is higher, or equal and of another master, raises it again,
// before that peer is answered.
package master
