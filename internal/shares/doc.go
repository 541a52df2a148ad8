// Package shares decides whose task is served next. It keeps a tree of owners and what
// each has used:
//
//	all ─┬─ team ─┬─ team/alice
//	     │        └─ team/bob
//	     └─ carol
//
// The rule is start-time fair queuing, at each node of the tree among its children
// (Goyal, Vin and Cheng, SIGCOMM 1996, sections 2 and 3), with several servers (Jin,
// Chase and Kaur, SIGMETRICS 2004, SFQ(D)). docs/adr/0022-fair-shares.md has the
// decisions, docs/policies.md the rules.
package shares
