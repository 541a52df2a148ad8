// Package runloop is the goroutine around a core: the only one that touches it.
//
//	Post ──▶ inbox (bounded) ──▶ handle(batch) ──▶ Stepper.Step ──▶ actions
//	 any goroutine                the owner goroutine, everything that waits at once
//
// A [Loop] hands its owner everything that came since the last time as one
// batch, so work that arrives while a batch is handled goes out together
// afterwards: batching without a timer and without added latency. A [Stepper]
// gives inputs to cores, records them when asked, and passes the actions on.
package runloop
