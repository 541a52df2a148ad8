// Package master is the daemon that schedules one group of workers: a thin shell
// around the policy's master core.
//
//	frontends ──Tasks, Drop──▶ ┌─ inbox ─▶ core ─▶ ways out ─┐ ──Launch, Kill──▶ node monitors
//	nodes ──Idle (NATS), ────▶ │      (one goroutine)        │ ──Serves, Returned, AttemptLost──▶ frontends
//	   Refused, Started, Beat, │                             │
//	   snapshots               │  members ─▶ numbers, roll   │ ──roll (long poll)──▶ frontends, nodes
//	other masters ──Spare────▶ └─────────────────────────────┘ ──Spare──▶ other masters
//
// The master is a cache. It owns no fact: what is owed is in the frontends'
// journals, what runs is known to the node monitors, and both tell it again when
// they register. So it keeps nothing on disk, and losing it is a
// re-registration.
//
// # Which core
//
//	pigeon, pigeon-sort, pigeon-x               one master for each group, with its core
//	hawk, eagle, kairos, fifo, priority         one master with the policy's core over all nodes
//	sparrow, peacock                            one master without a core: it keeps the roll
//
// Where there is one master it numbers the workers, and all daemons know a worker by
// that number; docs/adr/0008-single-master.md says why. The masters of pigeon-sort and
// pigeon-x say hello to each other each second; one that does not answer for five
// is lost, and nothing is offered to it.
//
// # Membership
//
//	node: absent ──hello──▶ registered ──snapshot every second──▶ registered
//	                             └── no snapshot and no delivery for 2 s ──▶ lost
//
//	number: none ──hello──▶ given ──hello to a later master──▶ claimed
//	                          └── never another slot's, nor of this one's next process
//
// A lost node's slots are lost workers to the core; a node that says hello with
// a new incarnation loses its old slots first. Two nodes with one name: the one
// that lives keeps it, the other is refused with a word on which one holds it.
// Nothing is launched at a node that messages do not reach, also when its own
// reach the master; the masters of other policies do not register it. What a
// frontend sends before it has registered is ignored: it registers with its next
// hello and then sends all that the group is to hold.
//
// # Roll
//
// The roll lists the nodes that are alive, with the numbers of their workers, and
// the frontends heard of within ten seconds. Between two rolls pass 20 ms at
// least, 2 ms for each who reads it; a new one wakes who waits for it. Who knows the roll of an earlier master is told this
// one's when those who were on that one have had two seconds to register again.
//
// # Failures
//
//	master killed             its successor: epochs and numbers from what others tell, held tasks adopted
//	two slots claim a number  the second is refused with the number; its node monitor starts anew
//	new slot after a restart  no number for a second, so that others may claim theirs
//	frontend silent for 10 s  off the roll: workers let go of what they wait for from it
//	other master silent       its flags are void, tasks stay in their group
//
// # Epochs
//
// A master starts at 1 + the highest epoch that any peer of its group reports;
// a later report that is higher, or equal and of another master, raises it again,
// before that peer is answered.
package master
