// Package master is the daemon that schedules one group of workers: a thin shell
// around the policy's master core.
//
//	frontends ──Tasks, Drop──▶ ┌─ inbox ─▶ core ─▶ outbox ─┐ ──Launch, Kill──▶ node monitors
//	nodes ──Idle (NATS), ────▶ │     (one goroutine)        │ ──Serves, Returned, AttemptLost──▶ frontends
//	        snapshots          └────────────────────────────┘
//
// The master is a cache. It owns no fact: what is owed is in the frontends'
// journals, what runs is known to the node monitors, and both tell it again when
// they register. So it keeps nothing on disk, and losing it is a
// re-registration.
//
// # Membership
//
//	node: absent ──hello──▶ registered ──snapshot every second──▶ registered
//	                             └── no snapshot and no delivery for 2 s ──▶ lost
//
// A lost node's slots are lost workers to the core; a node that says hello with
// a new incarnation loses its old slots first. Two nodes with one name: the one
// that lives keeps it, the other is refused with a word on which one holds it.
// Nothing is launched at a node that messages do not reach, also when its own
// reach the master. What a frontend sends before it has registered is ignored: it
// registers with its next hello and then sends all that the group is to hold.
//
// # Epochs
//
// A master starts at 1 + the highest epoch that any peer of its group reports;
// a higher report later raises it again, before that peer is answered.
package master
