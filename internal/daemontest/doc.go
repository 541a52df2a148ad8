// Package daemontest helps tests that run daemons in their own process: it runs
// one to its end, waits for what must become true, and speaks to masters as a
// node or a frontend of the test's making, over real Thrift.
//
// It knows no daemon, so that the tests of each can use it.
package daemontest
