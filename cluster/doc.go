// Package cluster starts a whole cluster on this machine, for experiments, for
// tests and for "pigeon dev":
//
//	NATS ◀── masters (one a group) ◀── node monitors ── frontends
//
// Under a policy with one master that master has all nodes; where masters send tasks to
// each other, each is configured with the addresses of all.
//
// All daemons run in this process (Goroutine: every port a free one), or each in a
// process (Process: the program is started again with the daemon's verb and a
// configuration file in the cluster's folder; every node has an address, 127.0.<group+1>.<node+1>).
//
// # States
//
//	Start ──all daemons ready──▶ running ──Close──▶ ended
//	                                └─ a daemon ends by itself ──▶ Failed receives why; Close follows
//
// Start returns when every frontend is ready and every master has all its nodes.
// Kill and Restart end and start one process, as faults do; a daemon that was killed
// has not failed. Pause and Resume suspend and continue one.
//
// # Nothing is left
//
// Close asks the nodes to stop, then frontends and masters, then NATS, each within
// a bound, and kills those that do not. Processes end with this one, whatever ends it
// (internal/childproc). A cluster without a configured folder keeps its data in a
// temporary one and removes it.
package cluster
