// Package usage keeps what jobs that ended used of the cluster, in a store of the frontend's folder.
//
//	owner goroutine ──Add──▶ queue ──▶ Run: batches ──▶ store ◀── History (a snapshot of its rows)
//	                         (full: dropped, counted)     ▲
//	                                      journal ────────┘ at the start: what is missing
//
// Nothing that is owed depends on it, and no daemon waits for it: a job that finds no room in the
// queue, or that cannot be written, is counted as dropped. A job is one row, under the instant of its
// end, its id and the instant of its submission, however often it is written. A query reads the rows
// of its time in their order, and sums them up as it reads.
package usage
