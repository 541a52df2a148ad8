package wire

import "github.com/pigeon-sched/pigeon/internal/sched"

// kindNumbers are the numbers of the kinds on the wire. A number never changes and is
// never reused; a new kind gets the next free one. Kinds from 64 up are passed by a
// shell to its own core: they can be recorded, and a peer that sends one is refused.
var kindNumbers = [sched.NumKinds]int8{
	sched.Tasks:       1,
	sched.Drop:        2,
	sched.Serves:      3,
	sched.Returned:    4,
	sched.AttemptLost: 5,
	sched.Holding:     6,
	sched.Launch:      7,
	sched.Kill:        8,
	sched.SetReserved: 9,
	sched.Idle:        10,
	sched.Refused:     11,
	sched.Report:      12,

	sched.Probe:         13,
	sched.CancelProbe:   14,
	sched.ProbeRejected: 15,
	sched.GetTask:       16,
	sched.NoTask:        17,
	sched.Started:       18,
	sched.Steal:         19,
	sched.Stolen:        20,
	sched.Rotated:       21,
	sched.LoadShare:     22,
	sched.Beat:          23,

	sched.Spare: 24, // 25 was Moved: masters move no tasks to each other

	sched.Preempt:  26,
	sched.Continue: 27,
	sched.Yield:    28,
	sched.Reclass:  29,
	sched.GangLoad: 30,

	sched.Submit:          64,
	sched.Cancel:          65,
	sched.MasterUp:        66,
	sched.MasterLost:      67,
	sched.Restored:        68,
	sched.Placed:          69,
	sched.NewAttempt:      70,
	sched.TaskEnded:       71,
	sched.JobEnded:        72,
	sched.WorkerUp:        73,
	sched.WorkerLost:      74,
	sched.WorkerServes:    75,
	sched.EpochIs:         76,
	sched.Ended:           77,
	sched.Timeout:         78,
	sched.Members:         79,
	sched.DistributorUp:   80,
	sched.Held:            81,
	sched.ResultsKept:     82,
	sched.NotLost:         83,
	sched.DistributorAway: 84,
	sched.SetShares:       85,
}

// firstOwn is the first number that only a shell passes to its own core.
const firstOwn = 64

// kindsByNumber is the inverse of kindNumbers; KindNone marks a free number.
var kindsByNumber = func() (kinds [128]sched.Kind) {
	for kind, number := range kindNumbers {
		kinds[number] = sched.Kind(kind) // below NumKinds
	}
	kinds[0] = sched.KindNone
	return kinds
}()

// Kinds returns the kinds of the numbers that are known here, as [BatchReply.RefusedKinds]
// has them.
func Kinds(numbers []int8) []sched.Kind {
	var kinds []sched.Kind
	for _, n := range numbers {
		if n > 0 && kindsByNumber[n] != sched.KindNone {
			kinds = append(kinds, kindsByNumber[n])
		}
	}
	return kinds
}

// fromPeers reports whether a peer may send messages of the kind.
func fromPeers(k sched.Kind) bool {
	return int(k) < len(kindNumbers) && kindNumbers[k] > 0 && kindNumbers[k] < firstOwn
}
