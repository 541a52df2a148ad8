// Package application is the part of a frontend for applications that bring their
// own executors (application.thrift; docs/applications.md draws the whole).
//
//	application ──registers, wants──▶ Service ──orders──▶ nodes: executors run
//	            ◀──news─────────────     │    ◀─holdings─
//	                                     └──jobs of grants──▶ the frontend's core ──▶ masters
//
// The service decides how many executors run on which node, and how many grants
// each level of an application waits for. The policy decides which slot a grant
// gets: a grant is a task of the application's resident backend, in a job that is
// not journaled, because the application states its levels again after any failure.
//
// The registry is the state of the service and the steps on it; it is pure: time is
// an argument, and what is to be done is returned as effects. The service owns it
// under a lock, carries out the effects, and follows masters and nodes.
//
// # The life of an application
//
//	unknown ──registered──▶ waiting ──the holdings of all nodes are known──▶ served
//	   ▲                                                                        │
//	   ├── ended: by itself, cancelled, or silent for its lease; ◀──────────────┤
//	   │   orders are repeated until its nodes have accepted them               │
//	   └── superseded: a node follows another frontend's higher tenure ◀────────┘
//
// # Which frontend serves it
//
// The frontend with which it registered last. That one chooses a tenure above all
// that the nodes have seen, and takes over what they hold of the application. A
// frontend whose tenure was accepted once and is exceeded forgets the application,
// and sends the nodes no order.
//
// # An executor
//
//	wanted ──fits nowhere──▶ waiting (the reason lists the users of the memory)
//	   │
//	   ▼
//	ordered ──▶ starting ──▶ running ──▶ exited, replaced under a new number
//	   └──refused: elsewhere; refused by all: final
//
// # Failures
//
//	executor ends        it is replaced after a pause; ten in a row with none running: final
//	slots not held       a job of slots was refused, or a task of it lost: the next holdings
//	                     of the node submit what is missing
//	node lost            its executors count as exited and are replaced at once
//	application silent   for its lease: it has ended
//	frontend lost        the application registers with another, which takes over;
//	                     with none for 30 s the nodes end its executors
//	master lost          its last membership holds until another one comes
package application
