package network

import (
	"encoding/binary"
	"os"
	"testing"
	"time"
)

// pipe is a port of the switch, and the end of a host at it.
type pipe struct {
	in, out chan []byte
	closed  chan struct{}
}

func newPipe() *pipe {
	return &pipe{make(chan []byte), make(chan []byte, 100), make(chan struct{})}
}

func (p *pipe) Read(packet []byte) (int, error) {
	select {
	case b := <-p.in:
		return copy(packet, b), nil
	case <-p.closed:
		return 0, os.ErrClosed
	}
}

func (p *pipe) Write(packet []byte) (int, error) {
	p.out <- append([]byte(nil), packet...)
	return len(packet), nil
}

func (p *pipe) Close() error { close(p.closed); return nil }

// packet is addressed to a host, and has a mark.
func packet(to int, mark byte) []byte {
	b := make([]byte, 21)
	b[0], b[20] = 4<<4, mark
	binary.BigEndian.PutUint32(b[16:], uint32(firstAddress+to+1))
	return b
}

// TestRules: packets arrive, except those that a rule loses, in the direction and between
// the hosts of the rule and for as long as it is in force.
func TestRules(t *testing.T) {
	hosts := []*pipe{newPipe(), newPipe(), newPipe()}
	x := newExchange([]port{hosts[0], hosts[1], hosts[2]})
	defer x.close()
	// A host reads one packet after the other, so when it takes the next one, the first is
	// with its receiver.
	send := func(from, to int, mark byte) {
		hosts[from].in <- packet(to, mark)
		hosts[from].in <- []byte("no IPv4")
	}
	expect := func(at int, marks ...byte) {
		t.Helper()
		for _, mark := range marks {
			select {
			case b := <-hosts[at].out:
				if b[20] != mark {
					t.Errorf("host %d got %d, not %d", at, b[20], mark)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("host %d did not get %d", at, mark)
			}
		}
		if n := len(hosts[at].out); n != 0 {
			t.Errorf("host %d got %d packets more", at, n)
		}
	}
	send(0, 1, 1)
	send(0, 9, 2) // there is no such host
	expect(1, 1)

	heal := x.add(Rule{Cut: true}, func(from, to int) bool { return from == 0 && to == 1 })
	send(0, 1, 3)
	send(1, 0, 4)
	send(0, 2, 5)
	expect(1)
	expect(0, 4)
	expect(2, 5)
	heal()
	send(0, 1, 6)
	expect(1, 6)

	heal = x.add(Rule{Repeat: 1}, func(int, int) bool { return true })
	send(2, 0, 7)
	expect(0, 7, 7)
	heal()
	defer x.add(Rule{Delay: time.Millisecond}, func(int, int) bool { return true })()
	send(2, 0, 8)
	expect(0, 8)
	if got := x.counts(); got != (Counts{Passed: 5, Lost: 1, Delayed: 2, Repeated: 1}) {
		t.Errorf("%+v", got)
	}
}
