// Package relay delivers messages to destinations that may be away for a while:
// one bounded queue for each, in order, each message at most once.
//
//	            ┌──────destination cannot be reached────┐
//	            ▼                                       │
//	Send ──▶ waiting ──call answered──────────▶ delivered
//	   │        ├──call sent and not answered────▶ dropped (it may have been executed)
//	   │        └──unreachable for Patience──────▶ dropped
//	   └──a bound is reached──▶ refused
//
// An application that counts messages would rather miss one than count it twice:
// after a loss its task is tried again, while nothing takes back a count.
package relay
