package peercred

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// listed looks a TCP socket up in the lists of kernels that cannot be asked for a single one.
// The time grows with the number of the machine's sockets. The error is errClosed where there is
// no such socket, [ErrUnknown] where there is no list.
func listed(own, peer netip.AddrPort) (socket, error) {
	missing := 0
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		s, err := listedIn(file, own, peer)
		switch {
		case err == nil:
			return s, nil
		case short(err):
			return socket{}, ErrShort
		case !errors.Is(err, errClosed):
			missing++
		}
	}
	if missing == 2 {
		return socket{}, ErrUnknown
	}
	return socket{}, errClosed
}

func listedIn(file string, own, peer netip.AddrPort) (socket, error) {
	f, err := os.Open(file) //nolint:gosec // one of two names
	if err != nil {
		return socket{}, err
	}
	defer f.Close() //nolint:errcheck // it was read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if o, p, s, ok := parseLine(lines.Text()); ok && o == own && p == peer {
			return s, nil
		}
	}
	if err := lines.Err(); err != nil {
		return socket{}, err
	}
	return socket{}, errClosed
}

// parseLine reads a line of /proc/net/tcp or tcp6: number, own address, peer's, state, queues,
// timer, retransmissions, uid, timeout, inode, and more.
func parseLine(line string) (own, peer netip.AddrPort, s socket, ok bool) {
	f := strings.Fields(line)
	if len(f) < 10 {
		return own, peer, s, false
	}
	own, ok1 := parseAddress(f[1])
	peer, ok2 := parseAddress(f[2])
	state, err1 := strconv.ParseUint(f[3], 16, 8)
	uid, err2 := strconv.ParseUint(f[7], 10, 32)
	inode, err3 := strconv.ParseUint(f[9], 10, 32)
	s = socket{state: uint8(state), uid: uint32(uid), inode: uint32(inode)} //nolint:gosec // parsed to these sizes
	return own, peer, s, ok1 && ok2 && errors.Join(err1, err2, err3) == nil
}

// parseAddress reads an address in hexadecimal, in which every four bytes are a number of this
// machine, and its port.
func parseAddress(text string) (netip.AddrPort, bool) {
	address, port, ok := strings.Cut(text, ":")
	b, err1 := hex.DecodeString(address)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err1 != nil || err2 != nil || len(b) != 4 && len(b) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), true
}
