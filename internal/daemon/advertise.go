package daemon

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Advertised returns the host:port that this daemon announces for one of its listeners: the host
// of the setting advertise, else that of the listening address. Where the daemon listens on every
// address of its host it is the host's address towards the peers, or, if none is
// found, the host's name. peers are host:port, with "/" between the standbys of one group; the
// servers of the setting nats follow them. The unspecified address (0.0.0.0, ::) is never
// announced.
func (s Settings) Advertised(listening string, peers ...string) string {
	host, port, err := net.SplitHostPort(listening)
	switch {
	case err != nil:
		return listening
	case s.Advertise != "":
		host = s.Advertise
	case IsEveryAddress(host):
		host = hostTowards(slices.Concat(split(peers), natsAddresses(s.NATS)))
	}
	return net.JoinHostPort(host, port)
}

// IsEveryAddress reports whether a host of a listening address stands for every address of this
// machine.
func IsEveryAddress(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// advertiseFault returns why the host of the setting advertise cannot be announced, "" when
// it can.
func (s Settings) advertiseFault() string {
	switch ip := net.ParseIP(s.Advertise); {
	case s.Advertise == "":
	case ip == nil && strings.ContainsAny(s.Advertise, "/:, []"):
		return "give a host without a port: each listener is told with its own"
	case ip != nil && ip.IsUnspecified():
		return fmt.Sprintf("%s is every address of a host, and none at which others reach this one; give its name or one address", s.Advertise)
	}
	return ""
}

// split returns the addresses of masters and their standbys one by one.
func split(peers []string) (all []string) {
	for _, group := range peers {
		all = append(all, strings.Split(group, "/")...)
	}
	return all
}

// natsAddresses returns host:port of the servers of the setting nats.
func natsAddresses(servers string) (all []string) {
	for server := range strings.SplitSeq(servers, ",") {
		if u, err := url.Parse(strings.TrimSpace(server)); err == nil && u.Host != "" {
			all = append(all, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "4222")))
		}
	}
	return all
}

// lookUpTime bounds how long a daemon that starts looks names of peers up.
const lookUpTime = 2 * time.Second

// hostTowards returns this host's address towards the first peer that is on another
// host or has an address there; the loopback address when all peers are on loopback; else the
// name of this host. A connected UDP socket has the address of the route and sends nothing.
func hostTowards(peers []string) string {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpTime)
	defer cancel()
	loopback := ""
	for _, peer := range peers {
		conn, err := new(net.Dialer).DialContext(ctx, "udp", peer)
		if err != nil {
			continue // no route, or a name that no resolver knows yet
		}
		local, _, _ := net.SplitHostPort(conn.LocalAddr().String()) // the package wrote it
		_ = conn.Close()                                            // nothing was written
		switch ip := net.ParseIP(local); {
		case ip == nil || ip.IsUnspecified():
		case ip.IsLoopback():
			loopback = cmp.Or(loopback, local)
		default:
			return local
		}
	}
	name, _ := os.Hostname() // "" falls through
	return cmp.Or(loopback, name, "localhost")
}
