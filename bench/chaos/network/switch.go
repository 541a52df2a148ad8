package network

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Counts is what the switch did with packets.
type Counts struct {
	Passed   int64 `json:"passed"`   // delivered at once
	Lost     int64 `json:"lost"`     // by a rule
	Delayed  int64 `json:"delayed"`  // by a rule
	Repeated int64 `json:"repeated"` // by a rule
}

// port is the interface of a host, at the switch.
type port interface {
	Read(packet []byte) (int, error)
	Write(packet []byte) (int, error)
	Close() error
}

// exchange passes packets on between ports.
type exchange struct {
	ports []port

	mu    sync.RWMutex
	rules map[int]entry // by number
	next  int

	passed, lost, delayed, repeated atomic.Int64
	running                         sync.WaitGroup
}

// entry is a rule and the pairs of hosts that it is for.
type entry struct {
	applies func(from, to int) bool
	rule    Rule
}

// firstAddress is 10.77.0.0; host 0 has the next one.
const firstAddress = 10<<24 | 77<<16

func newExchange(ports []port) *exchange {
	x := &exchange{ports: ports, rules: map[int]entry{}}
	for i := range ports {
		x.running.Go(func() { x.read(i) })
	}
	return x
}

// maxPacket is the largest packet of the interfaces.
const maxPacket = 65_000

func (x *exchange) read(from int) {
	packet := make([]byte, 1<<16)
	for {
		n, err := x.ports[from].Read(packet)
		if err != nil {
			return // it was closed
		}
		if to, ok := x.receiver(packet[:n]); ok {
			x.pass(from, to, packet[:n])
		}
	}
}

// receiver returns the host to which an IPv4 packet is addressed.
func (x *exchange) receiver(packet []byte) (int, bool) {
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return 0, false
	}
	to := int(binary.BigEndian.Uint32(packet[16:20])-firstAddress) - 1
	return to, to >= 0 && to < len(x.ports)
}

func (x *exchange) ruleOf(from, to int) (r Rule) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, e := range x.rules {
		if e.applies(from, to) {
			r = r.and(e.rule)
		}
	}
	return r
}

func (x *exchange) pass(from, to int, packet []byte) {
	r := x.ruleOf(from, to)
	if r.Cut || r.Loss > 0 && rand.Float64() < r.Loss { //nolint:gosec // which packet is lost cannot be repeated anyway
		x.lost.Add(1)
		return
	}
	x.deliver(to, packet, r)
	if r.Repeat > 0 && rand.Float64() < r.Repeat { //nolint:gosec // as above
		x.repeated.Add(1)
		x.deliver(to, packet, Rule{Delay: r.Delay + 5*time.Millisecond, Jitter: r.Jitter})
	}
}

func (x *exchange) deliver(to int, packet []byte, r Rule) {
	wait := r.Delay
	if r.Jitter > 0 {
		wait += rand.N(r.Jitter) //nolint:gosec // as above
	}
	if wait == 0 {
		x.passed.Add(1)
		_, _ = x.ports[to].Write(packet) // a packet may be lost
		return
	}
	x.delayed.Add(1)
	kept := append([]byte(nil), packet...)
	time.AfterFunc(wait, func() { _, _ = x.ports[to].Write(kept) })
}

// add applies a rule to packets until the returned function is called.
func (x *exchange) add(r Rule, applies func(from, to int) bool) (remove func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	number := x.next
	x.next++
	x.rules[number] = entry{applies, r}
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.rules, number)
	}
}

func (x *exchange) counts() Counts {
	return Counts{x.passed.Load(), x.lost.Load(), x.delayed.Load(), x.repeated.Load()}
}

func (x *exchange) close() {
	for _, p := range x.ports {
		_ = p.Close()
	}
	x.running.Wait()
}

var _ port = (*os.File)(nil)
