// Package peercred asks the kernel which user's process is at the other end of a connection: on
// a Unix socket by SO_PEERCRED, on a TCP connection over loopback by looking the peer's own
// socket up (sock_diag, inet_diag(7)). For a connection over a network the kernel cannot tell.
package peercred
