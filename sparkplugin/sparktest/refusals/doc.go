// Package refusals runs Spark on Pigeon with input that cannot work, and checks its
// error: what happened, to what, what was tried, what to do next; within ten seconds,
// and with nothing left behind.
//
//	versions that differ ─┐
//	a home without jars   ├─▶ driver ──▶ the four parts in one line of its stderr
//	memory, class, id     │               and an exit status above zero
//	addresses             ┘
package refusals
