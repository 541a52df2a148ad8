// Package after decides when a job that starts after others may start.
//
//	Hold ──▶ held ──Ended (the last of them, as it must have)──▶ free
//	           │
//	           └─Ended (one of them, otherwise)──▶ hopeless
//
// A job is held by its frontend while one of the jobs after which it starts has not ended. It
// becomes free when all of them have ended as required, and hopeless when one of them has ended
// otherwise; in both cases the table forgets it. Since a job can only name jobs that were
// accepted before it, none waits for itself.
//
// The package is pure: events come in, the steps that follow from them go out, in the order in
// which the jobs were entered. It has no clock, lock or log.
package after
