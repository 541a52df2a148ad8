// Package linkset holds a daemon's links to other daemons, by name: one ordered link
// for each peer, opened when the first message is sent there.
//
//	          Add(name, address, incarnation)
//	unknown ─────────────────────────────────▶ known ──Queue, Flush──▶ open
//	                                             ▲ ▲                    │
//	                                             │ └─Add, incarnation───┘  what was queued for the
//	                                             └───Remove─────────────┘  former process is dropped
//
// A link numbers its batches within this process, so that the peer can drop repeats.
// For that reason a link once opened stays for as long as the peer keeps its address:
// it is emptied rather than closed when the peer is lost or another process takes its
// name. A peer that stays removed is forgotten after a while (Forget), with the link's
// goroutine and connections. A daemon with many peers, sending seldom to each,
// keeps few connections (Options.MaxOpen); a link without one dials when it is used.
//
// Everything but Close belongs to the daemon's owner goroutine; the callbacks come from
// the links' goroutines.
package linkset
