package pigeon_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// tape reads numbers off fuzzed bytes; at its end all are zero.
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
	return int32(binary.LittleEndian.Uint32(raw[:]))
}

func (t *tape) addr() sched.Addr {
	a := sched.Addr{Role: sched.Role(t.byte() % 5), ID: t.number()}
	if a.ID > 1<<10 && a.ID <= sched.MaxID { // tables of that size are slow, not wrong
		a.ID %= 1 << 10
	}
	return a
}

// message reads a sender and a message of any kind with any content.
func (t *tape) message() (from sched.Addr, m sched.Message) {
	flags := t.byte()
	m = sched.Message{
		Kind: sched.Kind(t.byte() % byte(sched.NumKinds+1)), Class: sched.Class(t.byte() % 3), Outcome: sched.Outcome(t.byte() % 7),
		Head: flags&1 > 0, Resent: flags&2 > 0, Reserved: flags&4 > 0, Fixed: flags&8 > 0, Full: flags&16 > 0,
		Retries: t.byte(), Losses: t.byte(), First: t.number(), Count: t.number(), Attempt: t.number(),
		Job: sched.JobID{Lo: uint64(t.byte() % 4)}, Peer: t.addr(), Owner: t.addr(), Seq: uint64(t.number()), Epoch: uint64(t.number()),
		App: string(rune('a' + t.byte()%3)), Node: string(rune('m' + t.byte()%3)),
	}
	if flags&32 > 0 {
		m.Serves = []string{"b", "a", "b"}[:t.byte()%4]
		m.Kept = []sched.AttemptID{{Job: m.Job, Task: t.number(), Attempt: t.number()}}
	}
	return t.addr(), m
}

// core is what every fuzz target drives.
type core interface {
	sched.Core
	Valid() error
}

// drive gives a core whatever the bytes say. It must not panic and must keep its
// invariants; between the odd messages come plausible ones, for it to have a
// state worth breaking.
func drive(t *testing.T, c core, data []byte, plausible []sched.Message) {
	var out sched.Actions
	now := sched.Time(0)
	for tp := (&tape{data}); len(tp.data) > 0; now++ {
		from, m := tp.message()
		if b := tp.byte(); b < 100 {
			m = plausible[int(b)%len(plausible)]
			m.Seq += uint64(now)
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

func seeds(add func([]byte)) {
	add([]byte("what the daemons say is translated and checked; this is neither"))
	add([]byte{0, 1, 2, 250, 255, 255, 255, 127, 251, 0, 0, 0, 128, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	long := make([]byte, 2000)
	for i := range long {
		long[i] = byte(i * i * 31 >> 3)
	}
	add(long)
}

func FuzzMaster(f *testing.F) {
	seeds(func(data []byte) { f.Add(false, byte(20), data); f.Add(true, byte(255), data) })
	plausible := []sched.Message{
		{Kind: sched.WorkerUp, Peer: worker(1), Node: "n", Serves: []string{"a"}},
		{Kind: sched.WorkerUp, Peer: worker(2), Node: "n", Serves: []string{"a", "b"}},
		{Kind: sched.Tasks, Job: jobOne, Count: 5, Attempt: 1, App: "a", Owner: owner},
		{Kind: sched.Tasks, Job: sched.JobID{Lo: 2}, Count: 3, Attempt: 1, App: "b", Owner: owner, Class: sched.Long},
		{Kind: sched.WorkerLost, Peer: worker(1)}, {Kind: sched.Drop, Job: jobOne}, {Kind: sched.Timeout},
	}
	f.Fuzz(func(t *testing.T, recovers bool, share byte, data []byte) {
		cfg := sched.MasterConfig{Recover: recovers, MaxTasks: 50, Params: sched.Params{Weight: 3, Reserved: float64(share) / 200}}
		drive(t, pigeon.NewMaster(cfg), data, plausible)
	})
}

func FuzzDistributor(f *testing.F) {
	seeds(func(data []byte) { f.Add(data) })
	plausible := []sched.Message{
		{Kind: sched.MasterUp, Peer: group(1), Serves: []string{"a"}}, {Kind: sched.MasterUp, Peer: group(2), Serves: []string{"a", "b"}},
		{Kind: sched.Submit, Job: jobOne, Count: 5, App: "a", Retries: 1}, {Kind: sched.Submit, Job: sched.JobID{Lo: 2}, Count: 3, App: "b"},
		{Kind: sched.Submit, Job: sched.JobID{Lo: 3}, Count: 3, App: "b", Resent: true}, {Kind: sched.Restored},
		{Kind: sched.MasterLost, Peer: group(1)}, {Kind: sched.Timeout}, {Kind: sched.Cancel, Job: jobOne},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		drive(t, pigeon.NewDistributor(sched.DistributorConfig{Self: owner}), data, plausible)
	})
}

func FuzzWorker(f *testing.F) {
	seeds(func(data []byte) { f.Add(data) })
	plausible := []sched.Message{*launch(0, 0, 1, sched.Short), *launch(1, 0, 2, sched.Long), *ended(0, sched.Done), *setReserved(true, 1, 1)}
	f.Fuzz(func(t *testing.T, data []byte) {
		drive(t, slotCore{pigeon.NewWorker(sched.WorkerConfig{})}, data, plausible)
	})
}

// slotCore gives a worker the method that drive asks for.
type slotCore struct{ *pigeon.Worker }

// Valid: a busy slot runs an attempt.
func (w slotCore) Valid() error {
	if id, busy := w.Running(); busy && id.Attempt < 1 {
		return fmt.Errorf("the slot runs %s", id)
	}
	return nil
}
