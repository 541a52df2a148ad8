//go:build !unix

package client

import "net"

// staleCheck cannot look into sockets here; a call on a connection that the peer
// closed fails instead.
type staleCheck struct{}

func (*staleCheck) watch(net.Conn) {}

func (*staleCheck) peerClosed() bool { return false }
