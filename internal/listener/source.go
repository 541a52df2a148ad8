package listener

import (
	"net"
	"net/netip"
)

// Source returns for whom connections from an address are counted: the IP address without the port, and the
// network of 64 bits of an IPv6 address, since one host has all of it. A peer without an IP address, such as a
// pipe, is its own source.
func Source(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	return SourceOf(t.AddrPort().Addr())
}

// SourceOf is Source of an IP address.
func SourceOf(ip netip.Addr) string {
	ip = ip.Unmap()
	if ip.Is4() || ip.IsLoopback() {
		return ip.String()
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}
