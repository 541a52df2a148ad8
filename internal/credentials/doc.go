// Package credentials is how a daemon or a client proves its identity, and how it finds out
// who calls it:
//
//	certificate    TLS 1.3; the certificate names cluster, role and name, as the URI
//	               pigeon://CLUSTER/ROLE/NAME or as the subject O=CLUSTER, OU=ROLE, CN=NAME
//	token          an access token, by the first call of a connection
//	kernel         on loopback and Unix sockets the user of the process at the other end
//
// The files are read again when they change, without a restart; a change that cannot be used
// is logged, and the files read before stay in force.
package credentials
