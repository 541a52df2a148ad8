// Package client is Pigeon's client for Go: it submits jobs, waits for them, follows what their tasks
// write, explains why they wait, and cancels them. The commands of pigeon use it.
//
// A [Client] is the connection to the frontends of one cluster, which
// outlives each of them. A call whose frontend dies or does not answer is repeated at the
// same frontend, which may restart, and at the others, since one may have taken its name
// over, until a deadline.
//
// A job belongs to the frontend that accepted it, known by its name and not by its address:
//
//   - A job that a frontend may have accepted is sent again only under the same key, and
//     only to a process that serves that frontend's name, or to frontends that share their
//     keys. So a repetition is the same job.
//   - A permanent refusal (the job is not valid, a limit is reached) is returned at
//     once.
//   - A standby refuses and names the leader; a frontend that knows where the job is names that
//     address. The client follows both.
package client
