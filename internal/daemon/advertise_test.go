package daemon

import (
	"net"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// The address that a daemon announces for a listener.
func TestAdvertised(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, advertise, nats, listening string
		peers                            []string
		want                             string
	}{
		{"one address", "", "", "10.0.0.7:20503", nil, "10.0.0.7:20503"},
		{"a name in its place", "f7", "", "10.0.0.7:20503", nil, "f7:20503"},
		{"a name for every address", "f7", "", "0.0.0.0:20503", nil, "f7:20503"},
		{"an address of version 6", "fd00::7", "", "[::]:20503", nil, "[fd00::7]:20503"},
		{"the way to a master", "", "", "0.0.0.0:20503", []string{"127.0.0.1:20502"}, "127.0.0.1:20503"},
		{"the way to a standby", "", "", "[::]:20503", []string{"256.0.0.1:1/127.0.0.2:20502"}, "127.0.0.1:20503"},
		{"the way to NATS", "", "nats://user:secret@127.0.0.1", "[::]:20502", nil, "127.0.0.1:20502"},
		{"nobody to reach", "", "", ":20502", nil, net.JoinHostPort(name, "20502")},
	} {
		s := Settings{Advertise: c.advertise, NATS: c.nats}
		if got := s.Advertised(c.listening, c.peers...); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// Whatever the settings and the peers are, the unspecified address is not announced, and the port
// is kept.
func TestEveryAddressIsNeverTold(t *testing.T) {
	hosts := rapid.SampledFrom([]string{"0.0.0.0", "::", "", "127.0.0.1", "10.1.2.3", "0:0:0:0:0:0:0:0"})
	peers := rapid.SliceOfN(rapid.SampledFrom([]string{"127.0.0.1:1", "0.0.0.0:1", "[::]:2", "nonsense", "", "127.0.0.1:1/[::1]:2"}), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		s := Settings{NATS: rapid.SampledFrom([]string{"", "nats://0.0.0.0:4222", "nats://[::]:4222,nats://127.0.0.1:4222", "%"}).Draw(t, "nats")}
		got := s.Advertised(net.JoinHostPort(hosts.Draw(t, "host"), "77"), peers.Draw(t, "peers")...)
		host, port, err := net.SplitHostPort(got)
		if err != nil || IsEveryAddress(host) || port != "77" {
			t.Fatalf("%q is announced (%v)", got, err)
		}
	})
}

// A host that cannot be announced is refused.
func TestAdvertiseSetting(t *testing.T) {
	for advertise, good := range map[string]bool{
		"": true, "f7": true, "f7.example.org": true, "10.0.0.7": true, "fd00::7": true,
		"f7:20503": false, "0.0.0.0": false, "::": false, "[fd00::7]": false, "a/b": false, "a, b": false,
	} {
		if got := (Settings{Advertise: advertise}).advertiseFault(); (got == "") != good {
			t.Errorf("%q: %q", advertise, got)
		}
	}
}
