package probing_test

import (
	"encoding/binary"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// tape reads what a fuzzer wrote as messages of any kind with any content.
type tape struct{ data []byte }

func (t *tape) byte() byte {
	if len(t.data) == 0 {
		return 0
	}
	b := t.data[0]
	t.data = t.data[1:]
	return b
}

// number is small as a rule and anything now and then.
func (t *tape) number() int32 {
	if b := t.byte(); b < 250 {
		return int32(b % 6)
	}
	var raw [4]byte
	for i := range raw {
		raw[i] = t.byte()
	}
	return int32(binary.LittleEndian.Uint32(raw[:]))
}

func (t *tape) addr() sched.Addr { return sched.Addr{Role: sched.Role(t.byte() % 4), ID: t.number()} }

func (t *tape) message() (from sched.Addr, m sched.Message) {
	m = sched.Message{
		Kind: sched.Kind(t.byte() % byte(sched.NumKinds+1)), Class: sched.Class(t.byte() % 3), Outcome: sched.Outcome(t.byte() % 7),
		First: t.number(), Count: t.number(), Attempt: t.number(), Job: job(uint64(t.byte() % 4)), Peer: t.addr(), Owner: t.addr(),
		Seq: uint64(t.byte() % 8), Estimate: sched.Time(t.number()), Retries: t.byte(), Resent: t.byte() > 250,
	}
	switch t.byte() % 4 {
	case 0:
		m = *members(t.number(), t.number(), t.number())
	case 1:
		m.More = &sched.More{Probes: []sched.Probed{{Job: m.Job, Count: t.number()}}}
	}
	return t.addr(), m
}

// core is what every fuzz target drives.
type core interface {
	sched.Core
	Valid() error
}

func drive(t *testing.T, c core, data []byte) {
	var out sched.Actions
	now := sched.Time(0)
	for tp := (&tape{data}); len(tp.data) > 0; now++ {
		from, m := tp.message()
		out.Reset()
		c.Step(now, from, &m, &out)
		for i := range out.List() {
			_ = sched.DescribeAction(&out.List()[i])
		}
		if err := c.Valid(); err != nil {
			t.Fatalf("after %s: %v", sched.Describe(&m), err)
		}
	}
}

func seeds(f *testing.F) {
	f.Add([]byte("what the daemons say is translated and checked; this is neither"))
	long := make([]byte, 3000)
	for i := range long {
		long[i] = byte(i * i * 31 >> 3)
	}
	f.Add(long)
}

func FuzzDistributor(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := sched.DistributorConfig{Self: self, Params: sched.Params{Cutoff: sched.Second}}
		drive(t, probing.NewDistributor(cfg, probing.Options{Ratio: 2, Cancel: len(data)%2 == 0}), data)
	})
}

func FuzzWorker(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		drive(t, probing.NewWorker(sched.WorkerConfig{Master: central}, probing.Rules{Sticky: len(data)%2 == 0}), data)
	})
}
