package eagle

import (
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// lastTry marks the probe that a worker accepts in any case.
const lastTry = 3

// Distributor probes for short jobs, and again where a worker has long work.
type Distributor struct {
	*probing.Distributor
	share   float64 // of workers reserved for short tasks
	bits    []uint64
	stamp   sched.Time
	outside []int32 // indices of the members that the bitmap leaves
	fresh   bool    // outside is that of bits
}

// NewDistributor returns a new distributor without workers.
func NewDistributor(cfg sched.DistributorConfig, o Options) *Distributor {
	return &Distributor{
		Distributor: probing.NewDistributor(cfg, probing.Options{Ratio: o.Ratio, Least: o.Least, Repeated: true}),
		share:       cfg.Params.Reserved, stamp: -1,
	}
}

// Step implements [sched.Core].
func (d *Distributor) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	switch {
	case !m.Valid():
	case m.Kind == sched.ProbeRejected:
		d.rejected(m, out)
	default:
		d.fresh = d.fresh && m.Kind != sched.Members
		d.Distributor.Step(now, from, m, out)
	}
}

// rejected sends a probe on: to a worker that the newest bitmap leaves, and after
// that to a reserved one.
func (d *Distributor) rejected(m *sched.Message, out *sched.Actions) {
	if m.More != nil && m.More.Stamp > d.stamp {
		d.bits, d.stamp, d.fresh = m.More.Bits, m.More.Stamp, false
	}
	j := d.Job(m.Job)
	if j == nil || j.Unbound() == 0 || len(d.Members()) == 0 {
		return
	}
	if try := m.Attempt + 1; try < lastTry {
		d.Probe(j, d.free(j), try, out)
		return
	}
	d.Probe(j, d.reserved(j), lastTry, out)
}

// free draws a worker that the newest bitmap leaves.
func (d *Distributor) free(j *probing.Job) sched.Addr {
	members := d.Members()
	if !d.fresh {
		d.fresh, d.outside = true, d.outside[:0]
		for i, w := range members {
			if word := int(w.Worker.ID) / 64; word >= len(d.bits) || d.bits[word]>>(w.Worker.ID%64)&1 == 0 {
				d.outside = append(d.outside, int32(i))
			}
		}
	}
	if len(d.outside) == 0 {
		return d.reserved(j)
	}
	return members[d.outside[j.Draw(len(d.outside))]].Worker
}

// reserved draws a worker of the reserved partition, or any without one.
func (d *Distributor) reserved(j *probing.Job) sched.Addr {
	members := d.Members()
	n := probing.Reserved(d.share, len(members))
	if n == 0 {
		n = len(members)
	}
	return members[j.Draw(n)].Worker
}
