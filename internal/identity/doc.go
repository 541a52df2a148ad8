// Package identity describes the caller of a daemon: a person or a daemon, and how that was
// proven. The Thrift server and the HTTP server put the principal of a connection into the
// context of each call; package access decides what the principal may do.
package identity
