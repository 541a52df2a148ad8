// Package corefuzz drives the cores of policies with whatever a fuzzer writes.
package corefuzz

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Core is what a fuzz target drives.
type Core interface {
	sched.Core
	Valid() error
}

// Drive steps a core with the messages that the bytes spell, one every tick. The core must
// not panic and must keep its invariants. Between the odd messages come plausible
// ones, for it to have a state worth breaking; their Seq grows with time.
func Drive(t testing.TB, c Core, data []byte, tick sched.Time, plausible ...sched.Message) {
	t.Helper()
	var out sched.Actions
	n := uint64(0)
	for tp := (&tape{data}); len(tp.data) > 0; n++ {
		from, m := tp.message()
		if b := tp.byte(); b < 100 && len(plausible) > 0 {
			m = plausible[int(b)%len(plausible)]
			m.Seq += n / 4
		}
		out.Reset()
		c.Step(sched.Time(n)*tick, from, &m, &out) //nolint:gosec // bytes are few
		for i := range out.List() {
			_ = sched.DescribeAction(&out.List()[i])
		}
		if err := c.Valid(); err != nil {
			t.Fatalf("after %s: %v", sched.Describe(&m), err)
		}
	}
}

// Seeds adds inputs to begin with. They are short: a fuzzer reduces every
// interesting input to the part that makes it interesting, and for a long one that
// takes longer than its time.
func Seeds(add func([]byte)) {
	add([]byte("what the daemons say is translated and checked; this is neither"))
	add([]byte{0, 1, 2, 250, 255, 255, 255, 127, 251, 0, 0, 0, 128, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	for _, step := range []int{31, 77} {
		long := make([]byte, 250)
		for i := range long {
			long[i] = byte(i * i * step >> 3) //nolint:gosec // any byte will do
		}
		add(long)
	}
}

// tape reads messages of any kind with any content off fuzzed bytes; at its end
// all are zero.
type tape struct{ data []byte }

func (t *tape) byte() byte {
	if len(t.data) == 0 {
		return 0
	}
	b := t.data[0]
	t.data = t.data[1:]
	return b
}

// number is small as a rule, and now and then anything.
func (t *tape) number() int32 {
	b := t.byte()
	if b < 250 {
		return int32(b % 8)
	}
	var raw [4]byte
	for i := range raw {
		raw[i] = t.byte()
	}
	return int32(binary.LittleEndian.Uint32(raw[:])) //nolint:gosec // a bit pattern
}

// time is short as a rule.
func (t *tape) time() sched.Time { return sched.Time(t.number()) << (t.byte() % 32) }

// addr is of a core, or of nothing that exists. Tables up to the highest number are
// slow, not wrong.
func (t *tape) addr() sched.Addr {
	a := sched.Addr{Role: sched.Role(t.byte() % 5), ID: t.number()}
	if a.ID > 1<<10 && a.ID <= sched.MaxID {
		a.ID %= 1 << 10
	}
	return a
}

func (t *tape) job() sched.JobID { return sched.JobID{Lo: uint64(t.byte() % 4)} }

func (t *tape) message() (from sched.Addr, m sched.Message) {
	flags := t.byte()
	m = sched.Message{
		Kind: sched.Kind(t.byte() % byte(sched.NumKinds+1)), Class: sched.Class(t.byte() % 3), Outcome: sched.Outcome(t.byte() % 8),
		Head: flags&1 > 0, Resent: flags&2 > 0, Reserved: flags&4 > 0, Fixed: flags&8 > 0, Full: flags&16 > 0,
		First: t.number(), Count: t.number(), Attempt: t.number(), Job: t.job(), Peer: t.addr(), Distributor: t.addr(), Seq: uint64(t.byte() % 8),
	}
	if flags&32 > 0 {
		m.App, m.Node, m.Serves = [...]string{"", "a", "b"}[t.byte()%3], [...]string{"m", "n"}[t.byte()%2], []string{"b", "a", "b", ""}[:t.byte()%5]
		m.Kept = []sched.AttemptID{{Job: t.job(), Task: t.number(), Attempt: t.number()}}
	}
	if flags&64 > 0 {
		m.Retries, m.Losses, m.Marks, m.Epoch, m.Token = t.byte(), t.byte(), sched.Marks(t.byte()%32), uint64(t.byte()/100), uint64(t.byte()%16)
		m.Estimate, m.Arrival, m.Key = t.time(), t.time(), uint64(t.byte())
		m.Owner, m.Priority = t.owner(), t.number()
	}
	if flags&128 > 0 {
		m.More = t.more(&m)
	}
	return t.addr(), m
}

func (t *tape) owner() string {
	return [...]string{"", "u", "u/v", "u/w", "x", "x/y/z", "a//b", "1/2/3/4/5/6/7/8/9/10"}[t.byte()%8]
}

// part is a weight or a share, and now and then nonsense.
func (t *tape) part() float64 {
	return [...]float64{0, 0.1, 0.5, 1, 0.25, 3, -1, math.Inf(1)}[t.byte()%8]
}

// more is what the messages of the rivals carry, and the shares of owners.
func (t *tape) more(of *sched.Message) *sched.More {
	m := &sched.More{Stamp: t.time(), Threshold: t.time(), Load: sched.Load{Queued: int64(t.number()), Work: t.time()}}
	for range t.byte() % 4 {
		m.Members = append(m.Members, sched.Member{Worker: t.addr(), Master: t.addr()})
		m.Probes = append(m.Probes, sched.Probed{
			Job: t.job(), Distributor: t.addr(), Class: sched.Class(t.byte() % 3), Count: t.number(), Estimate: t.time(), Arrival: t.time(), Threshold: t.time(),
		})
		m.Slots = append(m.Slots, sched.Attained{ID: of.AttemptID(), Service: t.time(), Running: t.byte()%2 > 0}, sched.Attained{})
		m.Bits = append(m.Bits, uint64(t.byte()))
		m.Shares = append(m.Shares, sched.Share{Owner: t.owner(), Weight: t.part(), Max: t.part(), Min: t.part()})
		m.HalfLife = t.time() * sched.Second
	}
	return m
}
