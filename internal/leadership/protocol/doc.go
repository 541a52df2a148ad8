// Package protocol has the rules of leadership as pure code: when a standby may take over,
// when a leader must stop, what is written under which revision. Nothing here reads a
// clock, starts a goroutine or opens a socket; time comes in as an argument, and it is a
// clock of this machine alone that cannot be set and that counts pauses. Package leadership
// puts the goroutines around it.
//
// A store keeps one claim under a name, and each write states the revision that it replaces:
//
//	            write after what was seen succeeds
//	standby ───────────────────────────────────────▶ leading ──▶ renews every TTL/5
//	   ▲                                                │
//	   └── the deadline passes, or another claim is seen┘
//
// A leader leads until TTL - margin after it sent its last successful write. A standby writes
// once it has seen the same revision for the TTL in it + margin, counted from when it saw
// that revision first, which is after it was sent. The write succeeds only if nothing was
// written since. Hence, as long as each clock is wrong by at most 1 part in 100:
//
//   - no two candidates lead at once, whatever requests and answers are lost, late or
//     repeated, and whichever process pauses: an answer that comes too late makes no leader;
//   - the token, the revision that took the leadership, is higher than each before;
//   - some candidate leads again some time after faults have ended.
//
// A reader may be given something old: the write that follows is then refused.
package protocol
