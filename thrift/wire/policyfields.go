package wire

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// MaxListed bounds each list that only the published policies send.
const MaxListed = 100_000

// moreTo writes the fields that only some policies use; nil stays nil.
func (c *Codec) moreTo(m *sched.More, now sched.Time) (*peer.TMore, error) {
	if m == nil {
		return nil, nil
	}
	t := &peer.TMore{
		Bits: mapped(m.Bits, bits), Stamp: int64(m.Stamp), ThresholdNanos: int64(m.Threshold),
		Queued: m.Load.Queued, WorkNanos: int64(m.Load.Work), Slots: mapped(m.Slots, attainedTo),
	}
	for i := range m.Members {
		member, err := c.memberTo(&m.Members[i])
		if err != nil {
			return nil, err
		}
		t.Members = append(t.Members, member)
	}
	for i := range m.Probes {
		probe, err := c.probedTo(&m.Probes[i], now)
		if err != nil {
			return nil, err
		}
		t.Probes = append(t.Probes, probe)
	}
	return t, nil
}

// moreFrom reads what checkMore has accepted.
func (c *Codec) moreFrom(t *peer.TMore, now sched.Time) (*sched.More, error) {
	if t == nil {
		return nil, nil
	}
	m := &sched.More{
		Bits: mapped(t.Bits, unbits), Stamp: sched.Time(t.Stamp), Threshold: sched.Time(t.ThresholdNanos),
		Load: sched.Load{Queued: t.Queued, Work: sched.Time(t.WorkNanos)}, Slots: mapped(t.Slots, attainedFrom),
	}
	for _, member := range t.Members {
		w, err := c.addrFrom(member.Worker)
		if err != nil {
			return nil, err
		}
		master, err := c.addrFrom(member.Master)
		if err != nil {
			return nil, err
		}
		m.Members = append(m.Members, sched.Member{Worker: w, Master: master, Node: member.Node, Draining: member.Draining})
	}
	for _, probe := range t.Probes {
		p, err := c.probedFrom(probe, now)
		if err != nil {
			return nil, err
		}
		m.Probes = append(m.Probes, p)
	}
	return m, nil
}

func (c *Codec) memberTo(m *sched.Member) (t *peer.TMember, err error) {
	t = &peer.TMember{Node: m.Node, Draining: m.Draining}
	if t.Worker, err = c.addrTo(m.Worker); err != nil {
		return nil, err
	}
	t.Master, err = c.addrTo(m.Master)
	return t, err
}

func (c *Codec) probedTo(p *sched.Probed, now sched.Time) (*peer.TProbed, error) {
	distributor, err := c.addrTo(p.Distributor)
	return &peer.TProbed{
		JobHi: bits(p.Job.Hi), JobLo: bits(p.Job.Lo), Distributor: distributor, JobClass: int8(p.Class), Count: p.Count, App: p.App, // a class is below 2
		EstimateNanos: int64(p.Estimate), AgeNanos: ageTo(p.Arrival, now), ThresholdNanos: int64(p.Threshold),
	}, err
}

func (c *Codec) probedFrom(t *peer.TProbed, now sched.Time) (sched.Probed, error) {
	distributor, err := c.addrFrom(t.Distributor)
	return sched.Probed{
		Job: sched.JobID{Hi: unbits(t.JobHi), Lo: unbits(t.JobLo)}, Distributor: distributor, Class: sched.Class(t.JobClass), // checked
		Count: t.Count, App: t.App, Estimate: sched.Time(t.EstimateNanos), Arrival: ageFrom(t.AgeNanos, now),
		Threshold: sched.Time(t.ThresholdNanos),
	}, err
}

// checkMore rejects fields that no daemon of this version sends.
func checkMore(t *peer.TMore) error {
	if t == nil {
		return nil
	}
	for _, list := range []struct {
		name   string
		length int
	}{{"members", len(t.Members)}, {"probes", len(t.Probes)}, {"words of a bitmap", len(t.Bits)}, {"attempts of a node", len(t.Slots)}} {
		if list.length > MaxListed {
			return fmt.Errorf("it lists %d %s, more than the limit of %d", list.length, list.name, MaxListed)
		}
	}
	for i, p := range t.Probes {
		if p.JobClass < 0 || p.JobClass >= sched.NumClasses || p.Count < 0 || p.Count > api.MaxTasks {
			return fmt.Errorf("its probe %d of %d has the class %d and %d tasks, which is impossible", i+1, len(t.Probes), p.JobClass, p.Count)
		}
	}
	for i, a := range t.Slots {
		if a.Task < 0 || a.Task > api.MaxTasks || a.Attempt < 0 {
			return fmt.Errorf("its attempt %d of %d is task %d#%d, which is impossible", i+1, len(t.Slots), a.Task, a.Attempt)
		}
	}
	return nil
}

// moreSize returns an upper bound of the size on the wire.
func moreSize(m *sched.More) int {
	if m == nil {
		return 0
	}
	n := messageBytes + 8*len(m.Bits) + len(m.Slots)*2*elementBytes + len(m.Members)*3*(elementBytes+api.MaxKeyBytes)
	for i := range m.Probes {
		n += 4*elementBytes + api.MaxKeyBytes + len(m.Probes[i].App)
	}
	return n
}
