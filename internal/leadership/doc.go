// Package leadership lets one process at a time act under a name: the master of a group, a
// frontend. The right is a record in a store that is durable on several machines (a bucket of
// JetStream), which its leader renews and which lapses by itself; the revision at which it was
// acquired is the token, with which others refuse what a former leader still sends. Package
// protocol has the rules and why they hold, this package the goroutines around them.
//
//	                 Run                            Store
//	OnLead, OnLost ◀──── Candidate ──Put, Get, Delete──▶ bucket ◀── other candidates
//	Leads ──────────────▶    ▲ ◀──────────Watch────────────┘
//	                         └ Resign
//
// A candidate has one request in progress at a time. An answer that does not come within a
// third of the TTL counts as lost; the effect of the request is then read. Watch only makes
// things faster: without it standbys read by themselves.
package leadership
