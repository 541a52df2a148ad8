// Package journal stores what a frontend must not lose: the jobs it accepted,
// where their tasks were placed, which attempts they are at, which results it
// accepted, and for a while the keys of the jobs that ended.
//
// # A job in the journal
//
//	           Append(Accepted)          Append(JobEnded)         retention
//	unknown ───────────────────▶ live ───────────────────▶ ended ───────────▶ unknown
//	                             │  ▲
//	                             └──┘ Placed, Moved, Reclassed, NewAttempt(s), Lost, NotLost, TaskEnded, TaskReported, Cancelled, Met
//
// A live job holds its request and every record since; an ended one its key and
// last status, and, if it was cancelled, where its tasks were stopped (Stopped). So the journal is as large as what is unfinished, plus the
// retention.
//
// # The path of a record
//
//	Append ──▶ queue (bounded) ──▶ committer: one batch, one fsync ──▶ done(nil)
//
// One goroutine, the committer, writes everything that is queued as one batch and
// then answers each Append in it. While it waits for the disk the next batch
// gathers: the slower the disk, the larger the batches. The order of Append is the
// order of the journal.
//
// The batches go to a store of keys and values, which the journal reaches through
// a small interface (backing.go). It does not depend on the store's files.
//
// # Nothing acknowledged is lost silently
//
// A store stops reading at the first record that is not whole, because a process
// that dies leaves one, and cannot distinguish it from damage. The journal can, by two
// means of its own:
//
//   - Dense numbers: each batch has a number, one more than the batch before, and
//     carries it into the store (sequence.go). A number that is missing between two
//     others is a hole in the middle. The bundles of records of one job are
//     numbered from 0 in the same way.
//   - A witness: a small file next to the store with the numbers of the newest batch
//     that was begun and of the newest that was on the disk (witness.go). It is
//     written after each fsync of the store and before anything of the batch is
//     acknowledged. A store whose newest number is below the witness has lost
//     acknowledged batches.
//
// Both are compared when the journal opens, on a store that must not write yet:
//
//	numbers                            the journal
//	newest = acknowledged = begun      opens
//	acknowledged ≤ newest < begun      opens; the last batches were never acknowledged,
//	                                   the Report lists their numbers
//	newest < acknowledged              is refused: damage at the end
//	a number below newest is missing   is refused: damage in the middle
//
// The limits: the witness survives the end of the process at once, and a power cut
// only up to its last fsync. It is synced with the first batch of a second, so the
// last batches before an idle time wait until the kernel writes it, half a minute at
// most. For those batches, damage at the end of the newest log is found only
// if the store finds it: its logs record in each chunk up to where they had been
// synced, so damage is found that a later block of 32 KiB follows. Batches that are
// acknowledged before they are on the disk (placements, and everything with NoSync)
// are covered from the next fsync, or from Close. A folder in which the store, the
// witness and the mark were all replaced by older copies looks like that older
// journal. Blocks of tables are checked when they are read: those of unfinished jobs
// at the opening, those of ended ones at a look-up.
//
// # Failures
//
//   - The process dies: everything acknowledged is there at the next Open, which
//     starts a new incarnation. What was not acknowledged may be there as well.
//   - The disk is nearly full: new jobs are refused as busy, ends are still kept.
//   - A write fails: the journal is broken for good. Every Append, queued or new,
//     gets the error; nothing more is acknowledged. The folder stays locked until
//     the process ends.
//   - Something acknowledged is damaged or missing: Open refuses and names the
//     file, the numbers of the batches and the jobs that can be read.
//   - Damage is met at work, in what is kept of ended jobs or where the store merges
//     its tables: the journal is broken for good, and the error names the file, the
//     job if it is of one, and what to do. A replicated journal makes its copy again
//     from the stream at the next opening.
//   - Another process holds the folder: Open refuses and names it.
//
// docs/adr/0007-journal.md records why it is built on pebble, how it is laid out and
// how damage is found.
package journal
