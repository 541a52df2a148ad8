package wire

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// maxHeld bounds the attempts that one slot holds: Kairos holds suspended ones by
// the node, the probing policies long ones by the worker.
const maxHeld = 100_000

func heldTo(list []Held) []*peer.THeld {
	return mapped(list, func(h Held) *peer.THeld {
		return &peer.THeld{
			JobHi: bits(h.ID.Job.Hi), JobLo: bits(h.ID.Job.Lo), Task: h.ID.Task, Attempt: h.ID.Attempt,
			JobClass: int8(h.Class), App: h.App, Distributor: refTo(h.Frontend), FrontendAddress: h.FrontendAddress, JobName: h.JobName, // a class is below 2
			EstimateNanos: int64(h.Estimate), Suspended: h.Suspended, Owner: h.Owner,
		}
	})
}

func heldFrom(list []*peer.THeld) ([]Held, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if len(list) > maxHeld {
		return nil, fmt.Errorf("it holds %d attempts, the limit is %d", len(list), maxHeld)
	}
	held := make([]Held, len(list))
	for i, t := range list {
		frontend, err := refFrom(t.Distributor)
		switch {
		case err != nil:
			return nil, err
		case t.JobClass < 0 || t.JobClass >= sched.NumClasses:
			return nil, fmt.Errorf("the class %d of an attempt it holds does not exist", t.JobClass)
		case t.Task < 0 || t.Task >= sched.MaxTasks || t.Attempt < 1 || t.EstimateNanos < 0:
			return nil, fmt.Errorf("the task %d, attempt %d or estimate %d of an attempt it holds is out of range", t.Task, t.Attempt, t.EstimateNanos)
		}
		held[i] = Held{
			ID:    sched.AttemptID{Job: sched.JobID{Hi: unbits(t.JobHi), Lo: unbits(t.JobLo)}, Task: t.Task, Attempt: t.Attempt},
			Class: sched.Class(t.JobClass), App: t.App, Frontend: frontend, FrontendAddress: t.FrontendAddress, JobName: t.JobName,
			Estimate: sched.Time(t.EstimateNanos), Suspended: t.Suspended, Owner: t.Owner,
		}
	}
	return held, nil
}
