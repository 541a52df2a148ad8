// Package notice carries hints over NATS: idle notices from node monitors to
// masters, reports to frontends, acknowledgements back. Core NATS delivers at
// most once and does not report what it loses, so nothing may depend on a notice:
// its content is sent again over Thrift within a second.
//
//	Publish -> queue -> goroutine -> nats.go -> server -> Subscribe's function
//
// Publish never blocks. Its goroutine sends everything that is queued in one batch;
// notices published meanwhile follow. No timer is involved.
//
// A Conn is connected or not:
//
//	             server reached
//	not connected ------------> connected
//	      ^                         |
//	      +-------------------------+
//	        connection lost, two pings unanswered, a write stalls, something refused
//
// Absence of the server at the start is the same state as its loss later: the daemon
// continues, Connect succeeds, Publish fails, and the Conn keeps trying to connect.
// Subscriptions are renewed automatically, also on the connection that replaces one which the
// library has closed for good. Notices queued for a lost connection are dropped: a notice that
// waited is stale. A subscriber that is too slow loses the newest notices. Every drop is counted.
package notice
