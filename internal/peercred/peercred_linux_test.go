package peercred

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/peercred/peercredtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// families are the ways in which two processes of a machine meet: where one listens, and what the
// other one dials.
var families = map[string]struct{ listen, network, dial string }{
	"IPv4":                            {"127.0.0.1:0", "tcp4", "127.0.0.1"},
	"another loopback address":        {"127.8.9.10:0", "tcp4", "127.8.9.10"},
	"IPv6":                            {"[::1]:0", "tcp6", "::1"},
	"IPv4 to all addresses":           {"[::]:0", "tcp4", "127.0.0.1"},
	"IPv4 of an IPv6 socket":          {"127.0.0.1:0", "mapped", "127.0.0.1"},
	"IPv4 of an IPv6 socket, to [::]": {"[::]:0", "mapped", "127.0.0.1"},
	"IPv6 to all addresses":           {"[::]:0", "tcp6", "::1"},
}

// pair returns both ends of a connection; the first is the listener's.
func pair(t testing.TB, listen, network, host string) (accepted, dialled net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Skipf("this machine has no such address: %v", err)
	}
	defer l.Close()
	if dialled, err = dial(l, network, host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close() })
	if accepted, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return accepted, dialled
}

func dial(l net.Listener, network, host string) (net.Conn, error) {
	port := l.Addr().(*net.TCPAddr).Port
	if network == "mapped" {
		return dialMapped(netip.MustParseAddr(host), port)
	}
	return net.DialTCP(network, nil, &net.TCPAddr{IP: net.ParseIP(host), Port: port})
}

// dialMapped connects a socket for IPv6 to an IPv4 address, as Java does.
func dialMapped(host netip.Addr, port int) (net.Conn, error) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	if err := unix.Connect(fd, &unix.SockaddrInet6{Port: port, Addr: host.As16()}); err != nil {
		return nil, err
	}
	return net.FileConn(f)
}

// TestBothEndsNameThisUser: the owner of a connection is known at both of its ends, in every
// form of its addresses, by both ways of asking.
func TestBothEndsNameThisUser(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			accepted, dialled := pair(t, f.listen, f.network, f.dial)
			for _, c := range []net.Conn{accepted, dialled, tls.Client(accepted, &tls.Config{InsecureSkipVerify: true})} {
				if uid, err := UID(c); err != nil || int(uid) != os.Geteuid() {
					t.Errorf("%v to %v: user %d and %v, want %d", c.LocalAddr(), c.RemoteAddr(), uid, err, os.Geteuid())
				}
			}
			local, remote := address(accepted.LocalAddr()), address(accepted.RemoteAddr())
			if s, err := listed(remote, local); err != nil || int(s.uid) != os.Geteuid() || s.inode == 0 {
				t.Errorf("the list of sockets says %+v and %v", s, err)
			}
		})
	}
}

// TestAnotherUsersConnection: a socket of the user nobody is recognised as that user's.
func TestAnotherUsersConnection(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", f.listen)
			if err != nil {
				t.Skipf("this machine has no such address: %v", err)
			}
			defer l.Close()
			var dialled net.Conn
			peercredtest.As(t, peercredtest.Nobody, func() { dialled, err = dial(l, f.network, f.dial) })
			if err != nil {
				t.Fatal(err)
			}
			defer dialled.Close()
			accepted, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer accepted.Close()
			if uid, err := UID(accepted); err != nil || uid != peercredtest.Nobody {
				t.Errorf("user %d and %v, want nobody's", uid, err)
			}
			if uid, err := UID(dialled); err != nil || int(uid) != os.Geteuid() {
				t.Errorf("the accepting end is user %d's (%v), want %d", uid, err, os.Geteuid())
			}
		})
	}
}

// TestAnotherUsersUnixSocket is the same for Unix sockets.
func TestAnotherUsersUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "peercred") //nolint:usetesting // user nobody must reach it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(l.Addr().String(), 0o666)); err != nil {
		t.Fatal(err)
	}
	var dialled net.Conn
	peercredtest.As(t, peercredtest.Nobody, func() { dialled, err = net.Dial("unix", l.Addr().String()) })
	if err != nil {
		t.Fatal(err)
	}
	defer dialled.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if uid, err := UID(accepted); err != nil || uid != peercredtest.Nobody {
		t.Fatalf("user %d and %v, want nobody's", uid, err)
	}
}

// TestUnixSocket: SO_PEERCRED names the user who connected.
func TestUnixSocket(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dialled.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if uid, err := UID(accepted); err != nil || int(uid) != os.Geteuid() {
		t.Fatalf("user %d and %v, want %d", uid, err, os.Geteuid())
	}
}

// TestClosedPeerIsRefused: for a socket that its process has closed the kernel reports no
// user, or root; no caller is taken for root by closing in time.
func TestClosedPeerIsRefused(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			accepted, dialled := pair(t, f.listen, f.network, f.dial)
			_, _ = dialled.Write([]byte("unread")) // so that the socket outlives its process
			if err := dialled.Close(); err != nil {
				t.Fatal(err)
			}
			if uid, err := UID(accepted); err == nil {
				t.Fatalf("a closed socket counts as user %d's", uid)
			} else if errors.Is(err, ErrUnknown) {
				t.Fatalf("a closed socket counts as one of another machine: %v", err)
			}
		})
	}
}

// TestOnlyEstablishedSocketsHaveOwners: what the kernel reports about other sockets is not
// believed.
func TestOnlyEstablishedSocketsHaveOwners(t *testing.T) {
	for state := range uint8(13) {
		for _, inode := range []uint32{0, 7} {
			_, err := socket{state: state, uid: 0, inode: inode}.owner()
			if ok := err == nil; ok != (state == established && inode != 0) {
				t.Errorf("state %d with inode %d: %v", state, inode, err)
			}
		}
	}
}

// TestAnotherSocketsAnswerIsRefused: where there is no connection of these addresses the kernel
// answers with the socket that listens at one of them, which is not the caller's.
func TestAnotherSocketsAnswerIsRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = lookUp(address(l.Addr()), netip.MustParseAddrPort("127.0.0.1:1"))
	if !errors.Is(err, unix.ENOENT) {
		t.Fatalf("got %v", err)
	}
}

// TestNetworkIsUnknown: of a connection between machines, or of a pipe, nothing is known.
func TestNetworkIsUnknown(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, err := UID(a); !errors.Is(err, ErrUnknown) {
		t.Fatalf("got %v", err)
	}
}

// TestVanishedPeerIsRefused: of a peer that has reset the connection nothing is left.
func TestVanishedPeerIsRefused(t *testing.T) {
	accepted, dialled := pair(t, "127.0.0.1:0", "tcp4", "127.0.0.1")
	_ = dialled.(*net.TCPConn).SetLinger(0)
	_ = dialled.Close()
	await.Until(t, "the reset arrives", func() bool {
		_, err := accepted.Write([]byte("x"))
		return err != nil
	})
	if uid, err := UID(accepted); err == nil {
		t.Fatalf("a socket that is gone counts as user %d's", uid)
	}
}

func FuzzAnswer(f *testing.F) {
	own, peer := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	f.Add(make([]byte, answerSize))
	f.Add(question(own, peer))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := answer(b, own, peer); err != nil && s != (socket{}) {
			t.Fatalf("%+v with %v", s, err)
		}
	})
}

func FuzzLine(f *testing.F) {
	f.Add("   0: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0000000000000000 20 4 30 10 -1")
	f.Add("   1: 0000000000000000FFFF00000100007F:1F90 00000000000000000000000001000000:0000 0A 0:0 0:0 0 0 0 1")
	f.Fuzz(func(t *testing.T, line string) {
		if own, peer, _, ok := parseLine(line); ok && (!own.IsValid() || !peer.IsValid()) {
			t.Fatalf("%v and %v", own, peer)
		}
	})
}

func BenchmarkUID(b *testing.B) {
	accepted, _ := pair(b, "127.0.0.1:0", "tcp4", "127.0.0.1")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := UID(accepted); err != nil {
			b.Fatal(err)
		}
	}
}

// Without a descriptor left the caller is not known now, which is something else than a stranger.
func TestWithoutDescriptors(t *testing.T) {
	accepted, _ := pair(t, "127.0.0.1:0", "tcp4", "127.0.0.1")
	want, err := UID(accepted)
	if err != nil {
		t.Fatal(err)
	}
	restore := peercredtest.WithoutDescriptors(t)
	_, err = UID(accepted)
	restore()
	if !errors.Is(err, ErrShort) {
		t.Errorf("without descriptors: %v", err)
	}
	if uid, err := UID(accepted); err != nil || uid != want {
		t.Errorf("later: %d, %v", uid, err)
	}
}
