// Package inventory lists to each frontend what this node holds of it (attempts that run,
// are suspended or wait here, and kept results), and hands back what the frontend does not
// want. So whatever one side owes and the other does not have is settled, whichever message
// was lost (docs/design.md, section 2).
//
//	held ──every 5 s, or due──▶ parts of 1,000 ──one call at a time──▶ frontend
//	 ▲                                                                  │
//	 └──── unwanted: stopped, forgotten ◀──── the attempts of that part ┘
//
// An inventory is due at once when the frontend is another process than before, when it
// answers again after failures, and when this node has registered with another master.
// One that needs several parts and has not changed since the frontend answered all of it
// is sent as its digest: count and hash. The frontend asks for all of it when it has not
// answered that one, or when tasks have ended since. A frontend that does not know the node
// yet refuses each part as busy, and hears it nevertheless: the parts that follow are sent too.
//
//	idle ──due──▶ calling ──answered──▶ calling (next part) ──answered──▶ idle
//	  ▲              │──busy─────▶ calling (next part)
//	  │              └──failed, or busy at the last part──▶ paused ──▶ calling
//	  └──────────────── nothing is held ─────┘
package inventory
