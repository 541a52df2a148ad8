package peercred

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// established is the state TCP_ESTABLISHED of the kernel.
const established = 1

// socket is what the kernel knows of a TCP socket.
type socket struct {
	state uint8
	uid   uint32
	inode uint32 // 0 once no process has it open
}

// owner returns the user of an open socket. The kernel fills in the user before the inode, and a
// socket that no process has open never gets one again: with an inode the user is that of the
// process, not the 0 of a socket without one.
func (s socket) owner() (uint32, error) {
	if s.state != established || s.inode == 0 {
		return 0, errClosed
	}
	return s.uid, nil
}

// asked is set once the kernel has answered a question about a socket: a socket that it does not
// find then is gone.
var asked atomic.Bool

// ofTCP returns the user of the peer of a connection between two loopback addresses.
func ofTCP(local, remote netip.AddrPort) (uint32, error) {
	s, err := lookUp(remote, local) // the peer's own address is the remote one
	if err == nil {
		asked.Store(true)
		return s.owner()
	}
	if errors.Is(err, unix.ENOENT) && asked.Load() {
		return 0, errClosed
	}
	if short(err) {
		return 0, ErrShort
	}
	// A kernel without the module for the question also says that it has not found the socket.
	if s, err = listed(remote, local); err != nil {
		return 0, err
	}
	return s.owner()
}

// short reports whether an error says that this process or machine has no descriptor or memory left.
func short(err error) bool {
	for _, e := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// ofUnix returns the user who connected the Unix socket.
func ofUnix(c *net.UnixConn) (uid uint32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errClosed, err)
	}
	var cred *unix.Ucred
	if ctl := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); ctl != nil {
		return 0, fmt.Errorf("%w: %w", errClosed, ctl)
	}
	if err != nil {
		return 0, fmt.Errorf("SO_PEERCRED: %w", err)
	}
	return cred.Uid, nil
}
