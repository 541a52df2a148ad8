// Package access holds who may do what: one table of actions and roles, and which action each
// method of each Thrift service and each HTTP page is. It is pure: package identity says who
// calls, and the daemons ask here and answer.
//
//	connection ──who──▶ principal ──For(services)──▶ may its role call the method at all
//	                                 AllowOn ──────▶ may it do that to this object: its own, or another's
//
// A method without a row is refused, and a test fails when the IDL has one that the table
// lacks. docs/security.md shows the table, and a test holds the page to it.
package access
