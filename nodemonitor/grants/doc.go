// Package grants is the table between the slots of a node and the executors of
// applications on it: the backend of tasks that are grants (docs/design.md, section 3,
// Grants), and of tasks that hold slots for an executor that takes no grants.
//
//	slot ──Start──▶ Table ──AwaitGrants answers──▶ executor
//	     ◀──done────       ◀──EndGrants──────────
//
// # The life of a grant
//
//	Start ──▶ waiting ──an executor has room──▶ assigned ──answered──▶ bound ──EndGrants──▶ done
//	             │                                 │                     │
//	             │ no executor fetched it in time       │                     ├──executor gone──▶ failed
//	             ├──────────────▶ lost ◀───────────┘                     └──Kill──▶ bound still, and
//	             └──Kill──▶ killed ◀── Kill ── assigned                        named in giveBack
//
// The executor with the fewest grants gets the next one; of several, the one that
// attached first. An executor that has left a grant unfetched gets no other before it
// polls again.
//
// # What an end means to the job behind
//
// done is a slot that was offered, whether it was used or declined: the application
// has counted it. lost never reached an executor; the frontend tries again elsewhere.
// failed may or may not have reached the application, which knows, and requests
// another: so it is not tried again, or the application would get more than it still
// wants (docs/adr/0009-grants.md).
//
// A slot whose grant is bound is not free: Kill waits until the executor returns the
// grant or ends, because the slot's next task would otherwise run beside the piece of
// work that is under way.
//
// # Leases
//
// A grant at whose launch no other application waited carries a lease: within it the
// executor may run one piece of work after the other in the slot, of the class of the
// grant or a more urgent one. A launch for which others wait ends the leases of all
// grants here that are not more urgent; their executors learn it (giveBack). So does
// the master's notice on NATS; while notices cannot arrive, leases last a second at
// most.
//
// # Holds
//
// An executor that takes no grants runs on slots of its node for as long as it
// lives. The table waits for as many attempts of the application "APP/EXECUTOR"
// as it has slots, reports when all are here, and ends them with the executor.
package grants
