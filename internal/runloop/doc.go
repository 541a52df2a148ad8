// Package runloop is the owner goroutine of a core: the only one that touches it.
//
//	Post ──▶ inbox (bounded) ──▶ handle(batch) ──▶ Stepper.Step ──▶ actions
//	 any goroutine                the owner goroutine, all waiting entries at once
//
// A [Loop] has its owner handle all entries that were posted since the last time as
// one batch, so that work which arrives meanwhile is sent together afterwards:
// batching without a timer and without added latency. A [Stepper] steps inputs into
// cores, records them when wanted, and passes the actions on.
package runloop
