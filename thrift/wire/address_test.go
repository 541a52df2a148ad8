package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var addresses = []struct{ in, want string }{
	{"10.0.0.1:20101", "10.0.0.1:20101"},
	{"worker7:20101", "worker7:20101"},
	{"Worker7.Example.ORG:20101", "worker7.example.org:20101"},
	{"worker7/10.0.0.1:20101", "10.0.0.1:20101"},
	{"/10.0.0.1:20101", "10.0.0.1:20101"},
	{"localhost/127.0.0.1:1", "127.0.0.1:1"},
	{"worker7/<unresolved>:20101", "worker7:20101"},
	{"/[::ffff:127.0.0.1]:20101", "127.0.0.1:20101"},
	{"[::ffff:7f00:1]:20101", "127.0.0.1:20101"},
	{"0:0:0:0:0:ffff:7f00:1:20101", "127.0.0.1:20101"},
	{"/0:0:0:0:0:ffff:7f00:1:20101", "127.0.0.1:20101"},
	{"::ffff:127.0.0.1:20101", "127.0.0.1:20101"},
	{"127.1:20101", "127.0.0.1:20101"},
	{"127.0.1:20101", "127.0.0.1:20101"},
	{"2130706433:20101", "127.0.0.1:20101"},
	{"[::1]:20101", "[::1]:20101"},
	{"/0:0:0:0:0:0:0:1:20101", "[::1]:20101"},
	{"ip6-localhost/[0:0:0:0:0:0:0:1]:65535", "[::1]:65535"},
	{"[fe80::1%eth0]:20101", "[fe80::1%eth0]:20101"},
	{"[2001:DB8::7]:20101", "[2001:db8::7]:20101"},
	{"under_score:80", "under_score:80"},
}

var badAddresses = []string{
	"", ":", "/", "host", "host:", ":20101", "/:20101", "name/:20101", "<unresolved>:1", "/<unresolved>:1",
	"host:0", "host:65536", "host:-1", "host:+1", "host:port", "host:1x", "host: 1",
	"1.2.3.4.5:1", "256.0.0.1:1", "127.0.0.01:1", "1..2:1", ".:1", "127.0.0.1.:1", "4294967296:1",
	"[::1:1", "::1]:1", "[host]:1", "[127.1]:1", "ho st:1", "a/b/c:1", "host\x00:1", "[]:1", "::%]:20181", "[fe80::1%a b]:1", "h\u00f6st:1",
	strings.Repeat("a", 254) + ":1",
}

func TestParseAddress(t *testing.T) {
	for _, c := range addresses {
		if got, err := wire.ParseAddress(c.in); err != nil || got != c.want {
			t.Errorf("%q gives %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestParseAddressRefuses(t *testing.T) {
	for _, in := range badAddresses {
		got, err := wire.ParseAddress(in)
		var e *api.Error
		if !asError(err, &e) {
			t.Errorf("%q gives %q, %v; want a refusal", in, got, err)
			continue
		}
		if e.Problem != api.Invalid || e.What == "" || e.Next == "" || !strings.Contains(e.Subject, "address") || len(e.Error()) > 400 {
			t.Errorf("%q is refused with %q", in, e)
		}
	}
}

// The host of a THostPort and the address of a registration meet in one spelling.
func TestJoinAddress(t *testing.T) {
	for _, c := range []struct {
		host string
		port int
		want string
	}{
		{"127.0.0.1", 20101, "127.0.0.1:20101"},
		{"/127.0.0.1", 20101, "127.0.0.1:20101"},
		{"worker7/10.0.0.1", 20101, "10.0.0.1:20101"},
		{"worker7/<unresolved>", 20101, "worker7:20101"},
		{"0:0:0:0:0:ffff:7f00:1", 20101, "127.0.0.1:20101"},
		{"::1", 20101, "[::1]:20101"},
		{"[::1]", 20101, "[::1]:20101"},
	} {
		if got, err := wire.JoinAddress(c.host, c.port); err != nil || got != c.want {
			t.Errorf("%q and %d give %q, %v; want %q", c.host, c.port, got, err, c.want)
		}
	}
	for _, port := range []int{-1, 0, 65536} {
		if got, err := wire.JoinAddress("127.0.0.1", port); err == nil {
			t.Errorf("port %d gives %q", port, got)
		}
	}
}

func asError(err error, e **api.Error) bool { return errors.As(err, e) }
