// Package apptest is a minimal application with its own executors, for tests. It
// uses every method of application.thrift.
//
//	Driver ──registers, wants, news──▶ frontend (the next one when it fails)
//	   ▲ lines of JSON                    │
//	   └──── executor (Main) ◀──starts── node monitor
//	             └── attaches, awaits and ends grants there
//
// A test binary that is started again with the verb "executor" is an executor. It
// relays each grant to its driver, as Spark's does: the driver binds a piece of work,
// or declines. Work is sleeping.
package apptest
