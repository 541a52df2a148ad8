// Package grants is the table between the slots of a node and the executors of
// applications on it: the backend of tasks that are grants (design.md, section 3,
// Grants), and of tasks that hold slots for an executor that takes no grants.
//
//	slot ──Start──▶ Table ──AwaitGrants answers──▶ executor
//	     ◀──done────       ◀──EndGrants──────────
//
// # The life of a grant
//
//	Start ──▶ waiting ──an executor has room──▶ assigned ──answered──▶ bound ──EndGrants──▶ done
//	             │                                 │                     │
//	             │ nobody fetched it in time       │                     ├──executor gone──▶ failed
//	             ├──────────────▶ lost ◀───────────┘                     └──Kill──▶ bound still, and
//	             └──Kill──▶ killed ◀── Kill ── assigned                        named in giveBack
//
// An executor with the fewest grants is given the next, of those the one that
// attached first. One that lets a grant lie is passed over until it asks again.
//
// # What an end means to the job behind
//
// done is a slot that was offered, whether it was used or declined: the
// application has counted it as had. lost never reached an executor; the frontend
// tries again elsewhere. failed may or may not have reached the application, which
// knows, and asks anew: so it is not tried again, or the application would be
// given what it no longer wants (docs/adr/0009-grants.md).
//
// A slot whose grant is bound is not free, whatever anybody wishes: Kill waits
// for the executor's word or its end, as the slot's next task would otherwise run
// beside the piece of work that is under way.
//
// # Leases
//
// A grant at whose launch nobody else waited carries a lease: within it the
// executor may put one piece of work after the other into the slot, of the class
// of the grant or a more urgent one. A launch for which others wait ends the leases
// of all grants here that are not more urgent; their executors are told (giveBack). So
// does the master's word on NATS; while that cannot come, leases are a second at most.
//
// # Holds
//
// An executor that takes no grants runs on slots of its node for as long as it
// lives. The table waits for as many attempts of the application "APP/EXECUTOR"
// as it has slots, says when all are here, and ends them with the executor.
package grants
