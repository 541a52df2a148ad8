// Package grants connects the slots of a node with the executors of applications on it:
// [Table] is the backend of tasks that are grants (docs/design.md, section 3, Grants),
// [Holds] that of tasks that hold slots for an executor without grants.
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
// The executor with the fewest grants receives the next one; of several, the one that
// attached first. An executor that has left a grant unfetched receives no other before
// it polls again.
//
// # What an end means to the job
//
// A grant that ends as done was a slot on offer, used or declined: the application has
// counted it. One that ends as lost never reached an executor; the frontend tries again
// elsewhere. One that ends as failed may have reached the application, which then
// requests another; so the frontend does not try again, or the application would receive
// more grants than it still wants (docs/adr/0009-grants.md).
//
// A slot whose grant is bound is not free: Kill waits until the executor returns the
// grant or ends, because the slot's next task would otherwise run alongside the piece of work in
// progress.
//
// # Leases
//
// A grant at whose launch no other application waited carries a lease: within it the
// executor may run one piece of work after the other in the slot, of the class of the
// grant or a more urgent one. A launch for which others wait ends the leases of all
// grants here that are not more urgent, and the answers to their executors list them (giveBack).
// The master's notice on NATS does the same; while notices cannot arrive, leases last a second at
// most.
//
// # Holds
//
// An executor that takes no grants occupies slots of its node for as long as it runs.
// Holds waits for as many attempts of the application "APP/EXECUTOR" as the executor has
// slots, reports when all have arrived, and ends them with the executor.
package grants
