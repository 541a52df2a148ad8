// Package api holds the plain Go types of Pigeon's interfaces to the outside: job
// requests, statuses, explanations, applications with their executors, and the
// errors of all of them. Package wire translates them to and from Thrift; the
// daemons and the command line use nothing else of the wire.
package api
