// Package refusals gives Spark on Pigeon what cannot work, and reads what it says:
// what happened, to what, what was tried, what to do next; within ten seconds, and
// with nothing left behind.
//
//	versions that differ ─┐
//	a home without jars   ├─▶ driver ──▶ the four parts in one line of its stderr
//	memory, class, id     │               and an exit status above zero
//	addresses             ┘
package refusals
