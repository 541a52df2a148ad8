package master

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// cargo is what the master keeps beside the core for the jobs it holds: names
// and payloads, from the arrival of the tasks until the core forgets the job.
// It belongs to the owner goroutine.
type cargo struct {
	jobs map[sched.JobID]*jobCargo
}

type jobCargo struct {
	extra  wire.Extra // without payloads and task ids
	ranges []rangeCargo
}

// rangeCargo is the cargo of one Tasks message.
type rangeCargo struct {
	first, count int32
	arrived      time.Time // for traces and the wait that metrics show
	payloads     []api.Payload
	taskIDs      []string
}

func newCargo() *cargo { return &cargo{jobs: map[sched.JobID]*jobCargo{}} }

// load keeps what came with tasks. What came last counts, also for the job: its
// owner may listen elsewhere by now, and a node that registered with a task of
// the job told less. A range that comes again takes the place of the first.
func (c *cargo) load(it *wire.Item) {
	j := c.jobs[it.Msg.Job]
	if j == nil {
		j = &jobCargo{}
		c.jobs[it.Msg.Job] = j
	}
	j.extra = it.Extra
	j.extra.Payloads, j.extra.TaskIDs = nil, nil
	r := rangeCargo{first: it.Msg.First, count: it.Msg.Count, payloads: it.Payloads, taskIDs: it.TaskIDs, arrived: time.Now()}
	j.ranges = slices.DeleteFunc(j.ranges, func(old rangeCargo) bool { return old.first == r.first && old.count == r.count })
	j.ranges = append(j.ranges, r)
}

// adopt keeps the name of a job of which a registering node has a task.
func (c *cargo) adopt(id sched.JobID, name, ownerAddress string) {
	if c.jobs[id] == nil {
		c.jobs[id] = &jobCargo{extra: wire.Extra{JobName: name, OwnerAddress: ownerAddress}}
	}
}

// unload returns what goes along with the launch of a task, and when it came.
func (c *cargo) unload(id sched.AttemptID) (e wire.Extra, arrived time.Time) {
	j := c.jobs[id.Job]
	if j == nil {
		return e, arrived
	}
	e = j.extra
	for k := len(j.ranges) - 1; k >= 0; k-- { // the newest: another attempt may have come since
		r := &j.ranges[k]
		at := int(id.Task - r.first)
		if at < 0 || id.Task >= r.first+r.count {
			continue
		}
		switch {
		case len(r.payloads) == 1:
			e.Payloads = r.payloads
		case at < len(r.payloads):
			e.Payloads = r.payloads[at : at+1 : at+1]
		}
		if at < len(r.taskIDs) {
			e.TaskIDs = r.taskIDs[at : at+1 : at+1]
		}
		return e, r.arrived
	}
	return e, arrived
}

func (c *cargo) drop(id sched.JobID) { delete(c.jobs, id) }
