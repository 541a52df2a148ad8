// Package dispatch is the frontend's owner of the distributor core: it steps what
// masters, nodes and other frontends send, and sends what the core decides.
//
//	masters ──hello, batches──▶ ┌────────────┐ ──Tasks──▶ masters
//	nodes ──GetTask, reports──▶ │ Dispatcher │ ──Probe, Launch──▶ nodes
//	frontends ──LoadShare─────▶ │   (core)   │ ──LoadShare──▶ other frontends
//	membership ───────────────▶ └────────────┘ ──Persist──▶ the journal (its owner's)
//
// Under the policies with a master for each group, all messages are exchanged with
// masters. Under the others the first master publishes the membership, whose nodes
// and frontends are spoken to directly.
package dispatch
