// Package daemontest supports tests that run daemons in their own process: it runs and
// stops daemons, awaits conditions, and has a Peer that exchanges messages with masters
// over real Thrift in place of a node monitor or a frontend.
//
// It imports no daemon, so that the tests of every daemon can import it.
package daemontest
