// Package nodes is the node monitors that are registered with a master, and their slots:
// who they are, whether messages reach them, and what their slots serve.
//
//	node: absent ──hello──▶ registered ──snapshot every second──▶ registered
//	                             └── no snapshot and no delivery for 2 s ──▶ lost
//
//	number: none ──hello──▶ assigned ──hello to a later master──▶ claimed
//	                          └── never another slot's, nor of this one's next process
//
// The slots of a lost node are lost workers to the core. A node that says hello with a new
// incarnation loses its old slots first. Of two nodes with one name the one that is alive
// keeps it, and the other is refused. Nothing is launched at a node that messages do not
// reach, even when its own reach the master.
package nodes
