// Package usage keeps what jobs that ended used of the cluster, in an SQLite file of the frontend.
//
//	owner goroutine ──Add──▶ queue ──▶ Run: batches ──▶ file ◀── History (other connections)
//	                         (full: dropped, counted)    ▲
//	                                      journal ───────┘ at the start: what is missing
//
// Nothing that is owed depends on it, and no daemon waits for it: a job that finds no room in the
// queue, or that cannot be written, is counted as dropped. A job is in the file once, under its
// id and the instant of its submission, however often it is written. Sums by the hour and the day
// are written with the jobs, and answer most queries.
package usage
