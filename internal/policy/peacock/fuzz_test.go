package peacock

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
		m.More = t.more()
	}
	return t.addr(), m
}

// more is what rides on messages. Loads come from other distributors and can be
// anything.
func (t *tape) more() *sched.More {
	m := &sched.More{Threshold: sched.Time(t.number()), Load: sched.Load{Queued: int64(t.number()), Work: sched.Time(t.number()) << (t.byte() % 40)}}
	for range t.byte() % 4 {
		m.Members = append(m.Members, sched.Member{Worker: t.addr()})
		m.Probes = append(m.Probes, sched.Probed{
			Job: sched.JobID{Lo: uint64(t.byte() % 4)}, Owner: t.addr(), Estimate: sched.Time(t.number()), Arrival: sched.Time(t.number()),
			Threshold: sched.Time(t.number()),
		})
	}
	return m
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

func FuzzWorker(f *testing.F) {
	seeds(f)
	more := &sched.More{Load: sched.Load{Queued: 3, Work: 3 * second}, Threshold: second}
	plausible := []sched.Message{
		*ring(0, 1, 2), *ring(1, 2), {Kind: sched.Timeout}, *launch(1, 0), *ended(1),
		{Kind: sched.Probe, Job: sched.JobID{Lo: 1}, Owner: owner, Estimate: second, More: more},
		{Kind: sched.Probe, Job: sched.JobID{Lo: 2}, Owner: owner, Estimate: 2 * second, More: more},
		{Kind: sched.NoTask, Job: sched.JobID{Lo: 2}},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := sched.WorkerConfig{Self: worker(1), Params: sched.Params{Cutoff: second}}
		drive(t, NewWorker(cfg, Options{}), data, plausible)
	})
}

func FuzzDistributor(f *testing.F) {
	seeds(f)
	plausible := []sched.Message{
		*ring(0, 1, 2), *ring(1, 2), *submit(1, 5, second), *submit(2, 3, 0), {Kind: sched.Restored},
		{Kind: sched.GetTask, Job: sched.JobID{Lo: 1}}, {Kind: sched.GetTask, Job: sched.JobID{Lo: 2}},
		{Kind: sched.Report, Job: sched.JobID{Lo: 1}, Attempt: 1, Outcome: sched.Done}, {Kind: sched.Cancel, Job: sched.JobID{Lo: 2}},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		drive(t, NewDistributor(sched.DistributorConfig{Self: owner, Params: sched.Params{Cutoff: second}}), data, plausible)
	})
}
