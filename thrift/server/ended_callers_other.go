//go:build !linux

package server

import "net"

// hasGone cannot find out here; the call ends by itself.
func hasGone(net.Conn) bool { return false }
