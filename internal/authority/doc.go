// Package authority is a private certificate authority in a folder, and the certificates that
// it issues: those of daemons, of NATS servers, and of users who prefer them to tokens.
//
//	Init ──▶ authority ──Issue──▶ certificate ──Renew, before it expires──▶ certificate, same key
//	                                  │
//	                                  └──Revoke──▶ on the list of revoked certificates, forever
//
// The folder, of mode 0700, holds:
//
//	ca.pem       the certificate of the authority: all that a process needs to trust it
//	ca.key       its key, of mode 0600. Its holder can pose as any daemon and any user
//	crl.pem      the list of revoked certificates, which daemons read again when it changes
//	issued/      a copy of each certificate that was issued, named by its serial number
//
// A certificate names its subject by a URI, pigeon://CLUSTER/ROLE/NAME, and by its subject
// (O=CLUSTER, OU=ROLE, CN=NAME), for programs that show or map only that. Package credentials
// reads both, and refuses those of another cluster.
//
// Keys are ECDSA on the curve P-256, because Go, Java 11 and newer, and NATS servers all take
// them in TLS 1.3; Java takes Ed25519 there only from version 15 on.
//
// A renewed certificate keeps its key, so one renamed file replaces it and certificate and
// key match at every moment. A key that another user may know is replaced by Revoke and
// Issue.
package authority
