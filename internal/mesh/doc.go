// Package mesh holds a daemon's ways to the other daemons it speaks to, by name:
// one ordered link for each, opened when the first message goes there.
//
//	          Meet(name, address, incarnation)
//	unknown ───────────────────────────────────▶ known ──Queue, Flush──▶ open
//	                                               ▲ ▲                     │
//	                                               │ └──Meet, incarnation──┘  what was queued for the
//	                                               └────Forget─────────────┘  former process is dropped
//
// A link numbers its batches within this process, so the peer can tell what it has
// seen: a way once opened stays for as long as the peer keeps its address, and is
// emptied rather than closed when the peer is lost or another process takes its
// name. A daemon with many peers, to each of which it speaks seldom, keeps few
// connections (Options.MaxOpen); a way without one dials when it is used. Everything but Close belongs to the daemon's owner goroutine; the callbacks
// come from the links' goroutines.
package mesh
