// Package audit writes who asked a daemon for what, and whether it was allowed: one line of JSON
// for each decision, appended to a file that only the daemon's user can read.
//
//	Decide ──▶ queue (bounded) ──▶ goroutine ──▶ file ──at max_bytes──▶ file.1 ... file.5
//
// Decide never waits for the disk. Entries without room in the queue, and entries lost because the
// file cannot be written, are counted, and the next line that is written says how many lines are
// missing before it. A request that merely reads is written only when it was refused.
package audit
