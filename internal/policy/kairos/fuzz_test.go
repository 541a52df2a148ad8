package kairos

import (
	"encoding/binary"
	"testing"

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

// addr is that of a core; tables up to the highest number are slow, not wrong.
func (t *tape) addr() sched.Addr {
	return sched.Addr{Role: sched.Role(t.byte() % 4), ID: t.number() % (1 << 10)}
}

func (t *tape) message() (from sched.Addr, m sched.Message) {
	flags := t.byte()
	m = sched.Message{
		Kind: sched.Kind(t.byte() % byte(sched.NumKinds+1)), Class: sched.Class(t.byte() % 3), Outcome: sched.Outcome(t.byte() % 7),
		First: t.number(), Count: t.number(), Attempt: t.number(), Job: sched.JobID{Lo: uint64(t.byte() % 4)}, Peer: t.addr(), Owner: t.addr(),
		Seq: uint64(t.byte() % 8), Epoch: uint64(t.byte() / 100), Token: uint64(t.byte() % 16), Estimate: sched.Time(t.number()),
		Head: flags&1 > 0, Resent: flags&2 > 0,
	}
	if flags&4 > 0 {
		m.Serves = []string{"", "b"}[:t.byte()%3]
		m.Kept = []sched.AttemptID{{Job: m.Job, Task: t.number(), Attempt: t.number()}}
	}
	if flags&8 > 0 {
		m.More = &sched.More{Slots: []sched.Attained{{ID: m.AttemptID(), Service: sched.Time(t.number()) * second}, {}}}
	}
	return t.addr(), m
}

// core is what every fuzz target drives.
type core interface {
	sched.Core
	Valid() error
}

// drive gives a core whatever the bytes say, and plausible messages between, for
// it to have a state worth breaking.
func drive(t *testing.T, c core, data []byte, plausible []sched.Message) {
	var out sched.Actions
	now := sched.Time(0)
	for tp := (&tape{data}); len(tp.data) > 0; now += second / 5 {
		from, m := tp.message()
		if b := tp.byte(); b < 100 {
			m = plausible[int(b)%len(plausible)]
			m.Seq += uint64(now / second)
		}
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

func FuzzMaster(f *testing.F) {
	seeds(f)
	plausible := []sched.Message{
		{Kind: sched.WorkerUp, Peer: nodeAt(1), Serves: []string{""}}, {Kind: sched.WorkerUp, Peer: nodeAt(2), Serves: []string{""}},
		*tasks(1, 5), *tasks(2, 3), {Kind: sched.WorkerLost, Peer: nodeAt(1)}, *of(sched.Drop, 1, 0), {Kind: sched.Timeout}, *told(3, 1, 1, 2),
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := sched.MasterConfig{MaxTasks: 50, Recover: len(data)%2 == 0, Params: sched.Params{Cutoff: second}}
		drive(t, NewMaster(cfg, Options{Cores: 1, Extra: 2}), data, plausible)
	})
}

func FuzzNode(f *testing.F) {
	seeds(f)
	plausible := []sched.Message{
		*of(sched.Launch, 1, 0), *of(sched.Launch, 2, 0), *of(sched.Launch, 2, 1), *of(sched.Ended, 1, 0), *of(sched.Ended, 2, 1),
		*of(sched.Kill, 2, 0), {Kind: sched.Timeout},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := sched.WorkerConfig{Master: theMaster, Params: sched.Params{Cutoff: second}}
		drive(t, NewNode(cfg, Options{Cores: 1 + len(data)%2, Extra: 2, Passes: 1}), data, plausible)
	})
}
