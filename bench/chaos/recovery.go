package chaos

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/cluster"
)

// recoveriesOf adds how long it took from faults to the next start of a task that they hit.
func recoveriesOf(run *history.Run, measured map[string][]time.Duration, singleMaster bool) (list []Recovery) {
	by := map[string][]float64{}
	for kind, all := range measured {
		for _, d := range all {
			by[kind] = append(by[kind], d.Seconds())
		}
	}
	for _, f := range run.Faults {
		if f.Void {
			continue
		}
		switch f.Kind {
		case history.TaskKill:
			by[recoveryTask] = append(by[recoveryTask], run.StartedAgain(f, true)...)
		case history.GuardKill:
			by[recoveryGuard] = append(by[recoveryGuard], run.StartedAgain(f, false)...)
		case history.Kill:
			by[recoveryNode] = append(by[recoveryNode], run.StartedAgain(f, false)...)
			if seconds, ok := firstStart(run, f, singleMaster); ok {
				by[recoveryMaster] = append(by[recoveryMaster], seconds)
			}
		}
	}
	for _, kind := range recoveryKinds {
		if len(by[kind]) > 0 {
			list = append(list, recovery(kind, by[kind]))
		}
	}
	return list
}

// firstStart returns the seconds from the restart of a killed master to the first start of
// a task in its group.
func firstStart(run *history.Run, f history.Fault, singleMaster bool) (seconds float64, ok bool) {
	var group int
	if _, err := fmt.Sscanf(f.Victim, string(cluster.Master)+"-%d", &group); err != nil {
		return 0, false
	}
	for _, e := range run.Events {
		var of int
		if e.Event != history.Start || e.Time < f.To {
			continue
		}
		if _, err := fmt.Sscanf(e.Node, "node-%d-", &of); err == nil && (singleMaster || of == group) {
			return float64(e.Time-f.To) / 1e9, true
		}
	}
	return 0, false
}
