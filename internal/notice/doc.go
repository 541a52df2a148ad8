// Package notice carries hints over NATS: idle notices from node monitors to
// masters, reports to frontends, acknowledgements back. Core NATS delivers at
// most once and says nothing of what it loses, so nobody may depend on a notice;
// what it says is said again over Thrift within a second.
//
//	Publish -> queue -> goroutine -> nats.go -> server -> Subscribe's function
//
// Publish never blocks. Its goroutine takes all that is queued and hands it on;
// what is published meanwhile goes next. No timer is involved.
//
// A Conn is connected or not:
//
//	             server reached
//	not connected ------------> connected
//	      ^                         |
//	      +-------------------------+
//	        connection lost, two pings unanswered, a write stalls
//
// Absence of the server at the start is the same state as its loss later: the
// daemon goes on, Connect succeeds, Publish fails, and the connection is tried for
// ever. Subscriptions are renewed by themselves. What was queued for a lost
// connection is dropped: a notice that waited is stale. A subscriber that is too
// slow loses the newest notices. Every drop is counted.
package notice
