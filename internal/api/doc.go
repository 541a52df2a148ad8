// Package api holds the plain Go types in which the outside speaks to Pigeon:
// what a job request says, what a status or an explanation answers, and the
// errors both may meet. The Thrift edge translates to and from them; the daemons
// and the command line know nothing else of the wire.
package api
