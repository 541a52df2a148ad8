// Package link carries messages from one daemon to another: in order, each once,
// as long as both processes live. The sending end is a Link, one for each peer;
// the receiving end is an Inbox, one for each daemon.
//
//	Send -> queue -> one batch at a time -> Deliver ... Inbox.Accept -> take
//
// The sender's goroutine delivers everything queued in one batch; messages queued
// meanwhile form the next. No timer is involved: a message
// on an idle link leaves at once, and under load batches grow by themselves. A
// batch has a sequence number and keeps it until the peer answers; the Inbox
// drops the repeats that follow a lost answer.
//
// The states of a Link, as Options.OnState gets them:
//
//	        attempt fails            LostAfter since then
//	Up ----------------------> Down ----------------------> Lost
//	^                           |                            |
//	+------------ peer answers -+----------------------------+
//
// In every state the link keeps trying, pausing RetryMin to RetryMax. A peer
// that answers but has no room for now (api.Busy) is not down.
//
// A peer that answers as another incarnation has forgotten everything. What was
// queued for the old one is dropped and OnReincarnation is called; until Reset the
// link accepts nothing (ErrStale), because the core does not know yet, and its
// messages are meant for the former process. The daemon registers again, then calls
// Reset.
//
// A batch that the peer refuses (it does not know the sender, or cannot read the
// batch) is dropped and OnRefused is called: repeating it would never help, and
// the batches behind it wait.
//
// A Set holds a daemon's links to other daemons, by name: one for each peer, opened when the first
// message is sent there.
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
// keeps few connections (SetOptions.MaxOpen); a link without one dials when it is used.
//
// Everything of a Set but Close belongs to the daemon's owner goroutine; the callbacks come from
// the links' goroutines.
package link
