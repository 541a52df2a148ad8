// Package access defines who may do what: one table of actions and roles, and the action of
// each method of each Thrift service and of each HTTP page. It is pure: package identity
// determines the caller, and the daemons ask this package and answer.
//
//	connection ──who──▶ principal ──For(services)──▶ may its role call the method at all
//	                                 AllowOn ──────▶ may it do that to this object: its own, or another's
//
// A method without a row is refused, and a test fails when the IDL has one that the table
// lacks. docs/security.md shows the table, and a test holds the page to it.
package access
