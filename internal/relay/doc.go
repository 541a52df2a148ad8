// Package relay delivers messages to destinations that may be unreachable for a while,
// through one bounded queue for each, each message at most once, and those of one stream
// in order.
//
//	            ┌──destination cannot be reached, or──────┐
//	            ▼  refuses the messages of the stream     │
//	Send ──▶ waiting ──call answered──────────▶ delivered
//	   │        ├──call sent and not answered────▶ dropped (it may have been executed)
//	   │        ├──call refused for good─────────▶ dropped
//	   │        └──kept for Patience─────────────▶ dropped
//	   └──a bound is reached──▶ refused
//
// A destination that cannot be reached holds up all messages for it. One that answers that
// it has no room for a message holds up only the messages of the same stream: those of
// others may find room there.
//
// For an application that counts messages a lost message is better than a repeated one:
// after a loss its task is tried again, whereas a count cannot be undone.
package relay
