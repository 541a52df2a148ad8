// Package tokens keeps the access tokens of people: the file of the valid ones, which
// 'pigeon token' writes and daemons read, and the form of a token.
//
//	pigeon_0123456789ab_<64 hexadecimal digits>
//	       the id       the secret: 256 random bits
//
//	create ──▶ good ──▶ expired
//	             └──revoke──▶ revoked
//
// The file has a line of JSON for each token, with the SHA-256 of the token and not the token
// itself, so that a reader of the file, or of a backup of it, cannot call any daemon. A hash that
// is slow on purpose would add nothing: such hashes protect passwords, which can be guessed one
// after another; 256 random bits cannot be guessed. And a slow hash would let strangers, who need
// no token for that, keep a daemon busy.
//
// The id is no secret. It finds the line, it appears in logs and the audit log, and tokens are
// revoked by it. The hashes are compared in a time that does not depend on where they differ.
//
// Daemons read the file again when it changes, as they do with that of owners. A file that is
// damaged changes nothing: the tokens that were read before stay in force, and that is logged.
// Tokens of a removed file stay too: to revoke all of them, revoke them, or stop the daemons.
package tokens
