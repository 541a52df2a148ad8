// Package application is the part of a frontend for applications that bring their
// own executors (application.thrift; docs/applications.md draws the whole).
//
//	application ──registers, wants──▶ Service ──orders──▶ nodes: executors live
//	            ◀──news─────────────     │    ◀─holdings─
//	                                     └──jobs of grants──▶ the frontend's core ──▶ masters
//
// The service decides how many executors are where, and how many grants each
// level of an application waits for. Which slot a grant gets is the policy's
// matter: a grant is a task of the application's resident backend, its job one that
// is not journaled, as the application tells its levels again after any failure.
//
// # The life of an application
//
//	unknown ──registered──▶ settling ──the holdings of all nodes came──▶ served
//	   ▲                                                                      │
//	   ├── over: ended, cancelled (its process is told), silent for its lease; ◀───┤
//	   │   the nodes are told until they agree                                     │
//	   └── superseded: a node follows another frontend's higher tenure ◀──────────┘
//
// # Who serves it
//
// The frontend it registered with last. That one takes a tenure above all that
// nodes know of, and what they hold of the application; a frontend whose tenure
// was accepted once and is surpassed lets go, without a word to the nodes.
//
// # An executor
//
//	wanted ──fits nowhere──▶ waiting (told with who holds what)
//	   │
//	   ▼
//	ordered ──▶ starting ──▶ running ──▶ exited, replaced under a new number
//	   └──refused: elsewhere; refused by all: final
//
// # Failures
//
//	executor ends        replaced after a pause; ten in a row with none running: final
//	node lost            its executors are told as exited and replaced at once
//	application silent   for its lease: it is over
//	frontend lost        the application registers with another, which takes over;
//	                     with none for 30 s the nodes end its executors
//	master lost          its last membership holds until another one comes
package application
