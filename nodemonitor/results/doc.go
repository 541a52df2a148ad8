// Package results keeps the results of attempts on a node until their frontends have
// journaled them (docs/design.md, section 2, rule 1).
//
//	fresh ──one message per frontend after a batch──▶ sent ──acknowledged──▶ forgotten
//	  ▲                                                │
//	  └────────── a heartbeat without an answer ───────┘
//
// A result is kept until its frontend has journaled it, or answers that it does not
// know the job. Results travel as one NATS notice per frontend with all that ended
// together; without NATS by Thrift, one call at a time for each frontend.
// A result that is not acknowledged within a heartbeat is sent again by Thrift, with pauses
// after failures; every other time by NATS, because the answer to a notice carries the
// address of a frontend that has moved.
//
// Each result has a number that no other result of the node's process has. An answer to a
// call applies to the results that the call sent, an acknowledgement by NATS to the results
// whose numbers it repeats, and either only to results of the frontend that answers: a later
// result of the same attempt stays, whenever an answer comes.
//
// The number of kept results is limited, in all and, when that limit is reached, for each
// frontend ([Reporter.Capacity]). Without room the node refuses launches rather than losing a
// result. Results are forgotten unacknowledged only of a frontend that was not reached for a
// long time, and beyond twice the limit of one for which attempts end unstarted because it is
// silent: where launches cannot be refused, these leave small results.
package results
