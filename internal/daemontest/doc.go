// Package daemontest is for tests that run daemons in their own process: it runs a
// daemon to its end, awaits conditions, and sends messages to masters as a node
// monitor or a frontend that does only what the test has it do, over real Thrift.
//
// It imports no daemon, so that the tests of each can use it.
package daemontest
