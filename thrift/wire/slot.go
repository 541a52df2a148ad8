package wire

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// maxHeld bounds the attempts that one slot holds: Kairos holds suspended ones by
// the node, the probing policies long ones by the worker.
const maxHeld = 100_000

// checkSlot rejects a slot that no node of this version states.
func checkSlot(t *peer.TSlot) error {
	switch err := checkRef(t.Distributor); {
	case err != nil:
		return err
	case t.JobClass < 0 || t.JobClass >= sched.NumClasses:
		return fmt.Errorf("its class %d does not exist", t.JobClass)
	case t.Number < 0 || t.Number > sched.MaxID+1:
		return fmt.Errorf("its number %d is out of range", t.Number)
	case t.KeptMore < 0:
		return fmt.Errorf("the number %d of results beyond those it lists is below zero", t.KeptMore)
	case t.EstimateNanos < 0 || t.RanNanos < 0:
		return fmt.Errorf("its estimate %d or the time it has run, %d, is below zero", t.EstimateNanos, t.RanNanos)
	case t.Slot < 0 || t.Task < 0 || t.Task >= api.MaxTasks || t.Attempt < 0:
		return fmt.Errorf("its slot %d, task %d or attempt %d is out of range", t.Slot, t.Task, t.Attempt)
	case len(t.Held) > maxHeld:
		return fmt.Errorf("it holds %d attempts, the limit is %d", len(t.Held), maxHeld)
	}
	for _, h := range t.Held {
		if err := checkHeld(h); err != nil {
			return err
		}
	}
	return nil
}

func checkHeld(t *peer.THeld) error {
	switch err := checkRef(t.Distributor); {
	case err != nil:
		return err
	case t.JobClass < 0 || t.JobClass >= sched.NumClasses:
		return fmt.Errorf("the class %d of an attempt it holds does not exist", t.JobClass)
	case t.Task < 0 || t.Task >= sched.MaxTasks || t.Attempt < 1 || t.EstimateNanos < 0:
		return fmt.Errorf("the task %d, attempt %d or estimate %d of an attempt it holds is out of range", t.Task, t.Attempt, t.EstimateNanos)
	}
	return nil
}
