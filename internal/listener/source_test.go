package listener_test

import (
	"net"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/listener"
)

func TestSource(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "127.0.0.1": "127.0.0.1", "::1": "::1",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		ip, err := net.ResolveIPAddr("ip", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := listener.Source(&net.TCPAddr{IP: ip.IP, Zone: ip.Zone, Port: 5}); got != want {
			t.Errorf("Source(%s) = %q, want %q", address, got, want)
		}
	}
	if got := listener.Source(&net.UnixAddr{Name: "x"}); got != "x" {
		t.Errorf("Source of a socket = %q", got)
	}
}
