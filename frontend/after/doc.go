// Package after decides when a job that starts after others may start.
//
//	Hold ──▶ held ──Ended (the last of them, as it must have)──▶ free
//	           │
//	           └─Ended (one of them, otherwise)──▶ hopeless
//
// A job is held by its frontend while one of the jobs after which it starts has not ended. It
// becomes free when all of them have ended as they must have, and hopeless when one of them has
// ended otherwise; either way it is forgotten here. Since a job can only name jobs that were
// accepted before it, none waits for itself.
//
// The package is pure: what has happened comes in, what follows goes out, and the order of what
// follows is that in which the jobs came. It has no clock, lock or log.
package after
