/*
 * Who calls. Every Thrift server of Pigeon answers this service beside its own, on the same
 * port; clients of the published protocols do not know it and need not.
 */
include "published.thrift"

namespace go identity
namespace java org.pigeonsched.thrift.identity

// Who the server takes the caller of this connection for. role: viewer, user, operator, admin,
// frontend, master, node, superuser, or empty when nothing is proven. proof: kernel, token,
// certificate, listener, insecure, or empty. expiresSeconds: from now; 0 for never.
struct TPrincipal {
  1: string name
  2: string role
  3: string proof
  4: double expiresSeconds
}

service IdentityService {
  // Proves who calls by an access token, for all later calls of the connection. An empty token
  // changes nothing and answers who the caller is taken for.
  TPrincipal authenticate(1: string token) throws (1: published.TPigeonException e)
}
