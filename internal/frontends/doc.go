// Package frontends is the connection of a client to the frontends of one cluster, which
// outlives each of them. A call whose frontend dies or does not answer is repeated at the
// same frontend, which may restart, and at the others, one of which may have taken its name
// over, until a deadline.
//
// A job belongs to the frontend that accepted it, known by its name and not by its address:
//
//   - What may have been accepted by a frontend is sent again only under the same key, and
//     only to where its name is served, or to frontends that share their keys. So a
//     repetition is the same job.
//   - A refusal that will not pass (the job is not valid, a limit is reached) is returned at
//     once.
//   - A standby refuses and names who leads; a frontend that knows where the job is names that
//     address. The client follows both.
package frontends
