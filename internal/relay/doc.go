// Package relay delivers messages to destinations that may be unreachable for a while,
// through one bounded queue for each, in order and each message at most once.
//
//	            ┌──────destination cannot be reached────┐
//	            ▼                                       │
//	Send ──▶ waiting ──call answered──────────▶ delivered
//	   │        ├──call sent and not answered────▶ dropped (it may have been executed)
//	   │        └──unreachable for Patience──────▶ dropped
//	   └──a bound is reached──▶ refused
//
// For an application that counts messages a lost message is better than a repeated one:
// after a loss its task is tried again, whereas a count cannot be undone.
package relay
