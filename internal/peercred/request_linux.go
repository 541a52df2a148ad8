package peercred

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// The layout of a question and its answer (linux/inet_diag.h). Numbers are the machine's, but
// ports and addresses are the network's.
const (
	headerSize   = unix.SizeofNlMsghdr // length, type, flags, sequence, port
	idSize       = 48                  // ports, two addresses of 16 bytes, interface, cookie
	questionSize = headerSize + 8 + idSize
	answerSize   = headerSize + 4 + idSize + 20 // four bytes, id, five numbers, uid and inode the last
)

// answerTimeout bounds the wait for an answer, which the kernel gives within the sending of the
// question.
var answerTimeout = unix.Timeval{Sec: 1}

// lookUp asks the kernel for the TCP socket with exactly these two addresses. The error is
// ENOENT where there is none.
func lookUp(own, peer netip.AddrPort) (socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return socket{}, fmt.Errorf("netlink: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing is lost with it
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &answerTimeout); err != nil {
		return socket{}, fmt.Errorf("netlink: %w", err)
	}
	if err := unix.Sendto(fd, question(own, peer), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return socket{}, fmt.Errorf("asking for a socket: %w", err)
	}
	var buf [1024]byte
	n, from, err := receive(fd, buf[:])
	if err != nil {
		return socket{}, fmt.Errorf("asking for a socket: %w", err)
	}
	if sender, ok := from.(*unix.SockaddrNetlink); !ok || sender.Pid != 0 {
		return socket{}, errors.New("asking for a socket: a process answered in place of the kernel")
	}
	return answer(buf[:n], own, peer)
}

// receive reads one datagram; a signal does not end the wait.
func receive(fd int, buf []byte) (n int, from unix.Sockaddr, err error) {
	for range 10 {
		if n, from, err = unix.Recvfrom(fd, buf, 0); !errors.Is(err, unix.EINTR) {
			return n, from, err
		}
	}
	return n, from, err
}

// question returns the request for one socket.
func question(own, peer netip.AddrPort) []byte {
	b := make([]byte, questionSize)
	native := binary.NativeEndian
	native.PutUint32(b[0:], questionSize)
	native.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(b[6:], unix.NLM_F_REQUEST)
	native.PutUint32(b[8:], 1) // sequence number
	body := b[headerSize:]
	body[0], body[1] = unix.AF_INET6, unix.IPPROTO_TCP
	if own.Addr().Is4() { // IPv4 connections of IPv6 sockets, too, are found by this family
		body[0] = unix.AF_INET
	}
	native.PutUint32(body[4:], 1<<established)
	id := body[8:]
	binary.BigEndian.PutUint16(id[0:], own.Port())
	binary.BigEndian.PutUint16(id[2:], peer.Port())
	copy(id[4:20], own.Addr().AsSlice())
	copy(id[20:36], peer.Addr().AsSlice())
	native.PutUint32(id[40:], ^uint32(0)) // no cookie
	native.PutUint32(id[44:], ^uint32(0))
	return b
}

// answer reads the kernel's answer about a socket; another socket than the one asked for, such as
// one that listens on the port, is refused.
func answer(b []byte, own, peer netip.AddrPort) (socket, error) {
	if len(b) < headerSize+4 {
		return socket{}, errors.New("asking for a socket: a short answer")
	}
	native := binary.NativeEndian
	switch kind := native.Uint16(b[4:]); kind {
	case unix.NLMSG_ERROR:
		if code := int32(native.Uint32(b[headerSize:])); code < 0 { //nolint:gosec // an errno
			return socket{}, fmt.Errorf("asking for a socket: %w", unix.Errno(-code))
		}
		return socket{}, errors.New("asking for a socket: an answer without one")
	case unix.SOCK_DIAG_BY_FAMILY:
		if len(b) < answerSize {
			return socket{}, errors.New("asking for a socket: a short answer")
		}
	default:
		return socket{}, fmt.Errorf("asking for a socket: an answer of type %d", kind)
	}
	body := b[headerSize:]
	id := body[4:]
	if endOf(body[0], id[4:20], id[0:2]) != own || endOf(body[0], id[20:36], id[2:4]) != peer {
		return socket{}, fmt.Errorf("asking for a socket: %w", unix.ENOENT)
	}
	rest := id[idSize:] // expires, queues, uid, inode
	return socket{state: body[1], uid: native.Uint32(rest[12:]), inode: native.Uint32(rest[16:])}, nil
}

// endOf returns an address of an answer, an IPv4 one in its own form.
func endOf(family byte, address, port []byte) netip.AddrPort {
	a := netip.AddrFrom16([16]byte(address)).Unmap()
	if family == unix.AF_INET {
		a = netip.AddrFrom4([4]byte(address[:4]))
	}
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(port))
}
