// Package audit writes who asked a daemon for what, and whether it was allowed: one line of JSON
// for each decision, appended to a file that only the daemon's user can read.
//
//	Decide ──▶ queue (bounded) ──▶ goroutine ──▶ file ──at max_bytes──▶ file.1 ... file.5
//
// Decide never waits for the disk. What has no room, and what a file that cannot be written loses,
// is counted, and the next line that is written says how many lines are missing before it. What
// merely reads is written when it was refused only.
package audit
