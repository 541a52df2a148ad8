// Package dispatch owns the frontend's distributor core: it steps the messages of
// masters, nodes and other frontends into the core, and sends the core's messages.
//
//	masters ──hello, batches──▶ ┌────────────┐ ──Tasks──▶ masters
//	nodes ──GetTask, reports──▶ │ Dispatcher │ ──Probe, Launch──▶ nodes
//	frontends ──LoadShare─────▶ │   (core)   │ ──LoadShare──▶ other frontends
//	membership ───────────────▶ └────────────┘ ──Persist──▶ the journal (its owner's)
//
// Under the policies with a master for each group, all messages are exchanged with
// masters. Under the others the first master publishes the membership, and messages are
// exchanged directly with its nodes and frontends.
package dispatch
