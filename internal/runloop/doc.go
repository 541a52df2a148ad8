// Package runloop runs the owner goroutine of a core, the only one that touches it.
//
//	Post ──▶ inbox (bounded) ──▶ handle(batch) ──▶ Stepper.Step ──▶ actions
//	 any goroutine                the owner goroutine, all waiting entries at once
//
// A [Loop] hands all entries that were posted since the last time to its owner as one
// batch. Messages that arrive while a batch is handled are thus sent together afterwards:
// batching without a timer and without added latency. A [Stepper] steps inputs into
// cores, optionally records them, and passes the actions to the daemon.
package runloop
