// Package cluster starts a whole cluster on this machine, for experiments, for
// tests and for "pigeon dev":
//
//	NATS ◀── masters (one a group) ◀── node monitors ── frontends
//
// Under a policy with one master all nodes are its; masters that help each other are
// told of each other.
//
// All of it in this process (Goroutine: every port a free one), or one process
// for each daemon (Process: the program started again with the daemon's verb and
// a configuration file in the cluster's folder; every node on an address of its
// own, 127.0.<group+1>.<node+1>).
//
// # States
//
//	Start ──all daemons ready──▶ running ──Close──▶ gone
//	                                └─ a daemon ends by itself ──▶ Failed tells why; Close follows
//
// Start returns when every frontend is ready and every master has all its nodes.
// Kill and Restart end and start one process, as faults do; what was killed is
// not a failure. Pause and Resume stop one where it is and have it go on.
//
// # Nothing stays behind
//
// Close asks the nodes to stop, then frontends and masters, then NATS, each within
// a bound, and kills what does not. Processes die with this one, whatever ends it:
// each is told by the kernel (a parent-death signal, on Linux), and is in a
// process group of its own, so that a Ctrl-C reaches them through Close only.
// Without a folder of its own a cluster keeps its data in a temporary one and
// removes it.
package cluster
