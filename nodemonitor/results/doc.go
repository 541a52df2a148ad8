// Package results keeps how attempts ended on a node until their frontends have
// journaled it (docs/design.md, section 2, rule 1).
//
//	fresh ──one message per frontend after a batch──▶ sent ──acknowledged──▶ forgotten
//	  ▲                                                │
//	  └────────── a heartbeat without an answer ───────┘
//
// A result is kept until its frontend has journaled it, or answers that it does not
// know the job. Results travel as one NATS notice per frontend with all that ended
// together; where notices do not go, by Thrift, one call at a time for each frontend.
// What was not acknowledged within a heartbeat is sent again by Thrift, with pauses
// after failures; every other time by NATS, because the answer to a notice carries the
// address of a frontend that has moved.
//
// There is a limit to what is kept. At the limit [Reporter.HasRoom] reports false, and
// the node refuses launches rather than losing a result.
package results
