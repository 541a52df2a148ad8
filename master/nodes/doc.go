// Package nodes is the table of the node monitors that are registered with a master, and of
// their slots: names and addresses, whether messages reach them, and which applications
// their slots serve.
//
//	node: absent ──hello──▶ registered ──snapshot every second──▶ registered
//	                             └── no snapshot and no delivery for 2 s ──▶ lost
//
//	number: none ──hello──▶ assigned ──hello to a later master──▶ claimed
//	                          └── slot has left ──▶ resting (30 s, of a lost process 2 min) ──▶ none
//
// The slots of a lost node are lost workers to the core. When a node registers with a new
// incarnation, its old slots are lost first. The live one of two nodes with one name keeps
// it, and the other is refused. Nothing is launched at a node that messages do not reach,
// even when messages of the node reach the master.
package nodes
