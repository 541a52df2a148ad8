// Package client makes Thrift calls over a bounded pool of connections to one
// address.
//
// A connection carries one call at a time:
//
//	          Do                 reply read to its end
//	idle ------------> calling -----------------------> idle
//	  ^                   |
//	  | first use,        | deadline, cancel, broken, half read, not understood
//	  | or the peer had   v
//	  + closed it       closed, never used again
//
// The right arrow is needed because the late reply of a call that timed out would answer
// the next call of the connection. A connection that the peer closed while
// idle is replaced before anything is written to it. A call is written once: if
// its connection breaks after the first byte, the caller learns that the call may
// have been executed (CallError.Sent) and decides.
//
// After a failed dial the pool backs off exponentially, with jitter, and one caller at a
// time dials on behalf of all. Callers wait for it within their deadlines, or fail at once
// if Options.FailFast is set. Every call has a deadline: its context's,
// or Options.CallTimeout.
package client
