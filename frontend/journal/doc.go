// Package journal keeps what a frontend must not forget: the jobs it accepted,
// where their tasks were placed, which attempts they are at, which results it
// accepted, and for a while the keys of the jobs that ended.
//
// # A job in the journal
//
//	           Append(Accepted)          Append(JobEnded)         retention
//	unknown ───────────────────▶ live ───────────────────▶ ended ───────────▶ unknown
//	                             │  ▲
//	                             └──┘ Placed, Moved, Reclassed, NewAttempt, TaskEnded, Cancelled
//
// A live job holds its request and every record since; an ended one its key and
// last status only. So the journal is as large as what is unfinished, plus the
// retention.
//
// # A record on its way
//
//	Append ──▶ queue (bounded) ──▶ committer: one batch, one fsync ──▶ done(nil)
//
// One goroutine, the committer, takes all that waits, writes it as one batch,
// and tells everybody whose records were in it. While it waits for the disk the
// next batch gathers: the slower the disk, the larger the batches. The order of
// Append is the order of the journal.
//
// # Failures
//
//   - The process dies: everything acknowledged is there at the next Open, which
//     starts a new incarnation. What was not acknowledged may be there as well.
//   - The disk is nearly full: new jobs are refused as busy, ends are still kept.
//   - A write fails: the journal is broken for good. Everybody who waits, and
//     everybody who comes, gets the error; nothing more is acknowledged. The
//     folder stays locked until the process ends.
//   - The newest log ends in the middle of a record: it is cut back to the last
//     whole record and the [Report] says so.
//   - Something in the middle is damaged: Open refuses and names the file.
//   - Another process holds the folder: Open refuses and names it.
//
// docs/adr/0007-journal.md says why it is built on pebble and how it is laid out.
package journal
