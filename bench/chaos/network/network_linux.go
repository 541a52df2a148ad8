package network

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Network is hosts and the switch between them. Host 0 is this program's.
type Network struct {
	x          *exchange
	namespaces []*os.File // by host; nil for host 0
}

// New makes n hosts. It works only in a network namespace of this program's own.
func New(n int) (_ *Network, err error) {
	if err := inThread(loopbackUp); err != nil {
		return nil, fmt.Errorf("the loopback interface of this program's network namespace: %w", err)
	}
	w := &Network{}
	var ports []port
	for i := range n {
		tun, namespace, err := newHost(i)
		if err != nil {
			for _, p := range ports {
				_ = p.Close()
			}
			w.closeNamespaces()
			return nil, fmt.Errorf("host %d of %d could not be made: %w", i, n, err)
		}
		ports, w.namespaces = append(ports, tun), append(w.namespaces, namespace)
	}
	w.x = newExchange(ports)
	return w, nil
}

// newHost makes a network namespace, or takes this program's for host 0, and its
// interface.
func newHost(i int) (tun, namespace *os.File, err error) {
	made := func() (err error) {
		if i > 0 {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("a network namespace: %w", err)
			}
			if namespace, err = os.Open("/proc/thread-self/ns/net"); err != nil {
				return err
			}
			if err := loopbackUp(); err != nil {
				return err
			}
		}
		tun, err = openTun(address(i))
		return err
	}
	if err = inThread(made); err != nil && namespace != nil {
		err = errors.Join(err, namespace.Close())
	}
	return tun, namespace, err
}

// inThread calls do on its own thread, which ends afterwards: no other goroutine gets its
// network namespace.
func inThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		done <- do()
	}()
	return <-done
}

func address(host int) netip.Addr {
	n := uint32(firstAddress + host + 1) //nolint:gosec // a small number
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// openTun makes the interface of a host in the thread's namespace.
func openTun(at netip.Addr) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	ifr, err := unix.NewIfreq("pigeon0")
	if err == nil {
		ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
	}
	if err == nil {
		err = configure("pigeon0", at)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a tun interface: %w", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "tun"), nil //nolint:gosec // a descriptor; it can be polled only once it is an interface
}

func loopbackUp() error { return configure("lo", netip.Addr{}) }

// configure gives an interface its address, and switches it on.
func configure(name string, at netip.Addr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if at.IsValid() {
		ip := at.As4()
		if err := ifr.SetInet4Addr(ip[:]); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(fd, unix.SIOCSIFADDR, ifr); err != nil {
			return err
		}
		if err := ifr.SetInet4Addr([]byte{255, 255, 255, 0}); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(fd, unix.SIOCSIFNETMASK, ifr); err != nil {
			return err
		}
		ifr.SetUint32(maxPacket)
		if err := unix.IoctlIfreq(fd, unix.SIOCSIFMTU, ifr); err != nil {
			return err
		}
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, ifr); err != nil {
		return err
	}
	ifr.SetUint16(ifr.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

// Address returns the address of a host.
func (w *Network) Address(host int) string { return address(host).String() }

// Command returns the command that runs another one on a host.
func (w *Network) Command(host int, argv []string) []string {
	if host == 0 {
		return argv
	}
	at := fmt.Sprintf("--net=/proc/%d/fd/%d", os.Getpid(), w.namespaces[host].Fd())
	return append([]string{"nsenter", at, "--"}, argv...)
}

// Add applies a rule to packets until the returned function is called.
func (w *Network) Add(r Rule, applies func(from, to int) bool) (remove func()) {
	return w.x.add(r, applies)
}

// Counts returns what the switch did.
func (w *Network) Counts() Counts { return w.x.counts() }

// Close ends the switch. The processes on the hosts cannot reach each other any more.
func (w *Network) Close() {
	w.x.close()
	w.closeNamespaces()
}

func (w *Network) closeNamespaces() {
	for _, f := range w.namespaces {
		if f != nil {
			_ = f.Close() // only read
		}
	}
}
