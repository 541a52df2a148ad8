package wire

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// maxHostBytes is the length of a host name in the domain name system.
const maxHostBytes = 253

// ParseAddress reads an address as clients send it and returns it in one spelling,
// host:port, so that equal addresses are equal strings:
//
//	host:port            10.0.0.1:20101, worker7:20101, [::1]:20101
//	name/address:port    worker7/10.0.0.1:20101 (how Java prints a socket address)
//	/address:port        /10.0.0.1:20101, /[0:0:0:0:0:0:0:1]:20101, /0:0:0:0:0:0:0:1:20101
//
// The part after the slash is used, unless Java could not resolve it
// (name/<unresolved>:port). An IPv4 address written as IPv6 becomes IPv4, as does
// one of fewer than four numbers; names become lower case. The port is 1 to 65535.
func ParseAddress(s string) (string, error) {
	name, rest, slashed := strings.Cut(s, "/")
	if !slashed {
		name, rest = "", s
	}
	colon := strings.LastIndexByte(rest, ':')
	if colon < 0 {
		return "", badAddress(s, "it has no port")
	}
	host, digits := rest[:colon], rest[colon+1:]
	if host == "<unresolved>" {
		host = name
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || digits[0] == '+' {
		return "", badAddress(s, fmt.Sprintf("its port %q is no number of 1 to 65535", clip(digits)))
	}
	return join(s, host, int(port)) // 16 bits
}

// JoinAddress returns host and port in the spelling of [ParseAddress]; the host may
// be in any of its forms.
func JoinAddress(host string, port int) (string, error) {
	name, rest, slashed := strings.Cut(host, "/")
	switch {
	case !slashed:
		rest = host
	case rest == "<unresolved>":
		rest = name
	}
	return join(host+":"+strconv.Itoa(port), rest, port)
}

func join(whole, host string, port int) (string, error) {
	if port < 1 || port > 65535 {
		return "", badAddress(whole, fmt.Sprintf("its port %d is not one of 1 to 65535", port))
	}
	host, err := canonicalHost(host)
	if err != nil {
		return "", badAddress(whole, err.Error())
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// canonicalHost returns the one spelling of a host.
func canonicalHost(host string) (string, error) {
	bare := host
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		bare = host[1 : len(host)-1]
	}
	if ip, err := netip.ParseAddr(bare); err == nil && isName(ip.Zone()) {
		return ip.Unmap().String(), nil
	}
	switch {
	case bare == "":
		return "", errors.New("it has no host")
	case len(bare) > maxHostBytes:
		return "", fmt.Errorf("its host has %d bytes, more than the limit of %d", len(bare), maxHostBytes)
	case strings.Trim(host, "0123456789.") == "":
		return shortIPv4(bare)
	case bare != host || !isName(bare):
		return "", fmt.Errorf("its host %q is neither an address nor a name", clip(host))
	}
	return strings.ToLower(bare), nil
}

// isName reports whether s has only the bytes of the names of hosts and network
// interfaces; some networks use the underscore. It is true of "".
func isName(s string) bool {
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-._") == ""
}

// shortIPv4 reads an IPv4 address of one to four decimal numbers; the last one fills
// all bytes that are left, as resolvers and Java do: 127.1 is 127.0.0.1. A leading zero is
// refused, because only some implementations read it as octal.
func shortIPv4(s string) (string, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return "", fmt.Errorf("its host %q has more than four numbers", clip(s))
	}
	var ip [4]byte
	for i, part := range parts {
		width := 8
		if i == len(parts)-1 {
			width = 8 * (4 - i)
		}
		n, err := strconv.ParseUint(part, 10, width)
		if err != nil || (len(part) > 1 && part[0] == '0') {
			return "", fmt.Errorf("its host %q is no IPv4 address", clip(s))
		}
		for j := range width / 8 {
			ip[i+width/8-1-j] = byte(n >> (8 * j))
		}
	}
	return netip.AddrFrom4(ip).String(), nil
}

// clip shortens text that is quoted from a peer.
func clip(s string) string { return api.Clip(s, 64) }
