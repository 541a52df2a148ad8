package pigeon_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// taken is one task that a general worker took from a queue.
type taken struct {
	long        bool
	longWaiting bool // when it was taken
}

// checkWeight reports whether a history keeps the rule of docs/policies.md, pigeon:
// "of every W consecutive tasks that general workers take from the queues at least one
// is long while the long queue is not empty". A history without W consecutive tasks
// taken while long ones wait decides nothing.
func checkWeight(history []taken, w int) (holds bool, reason string) {
	if w == 0 {
		for i, x := range history {
			if x.long && i > 0 {
				return true, "W is infinite"
			}
		}
		return false, "too short to tell: no long task was taken"
	}
	run, proof := 0, false // run: consecutive short ones taken while long ones waited
	for i, x := range history {
		switch {
		case !x.longWaiting:
			run = 0
		case x.long:
			run = 0
			proof = true
		default:
			if run++; run >= w {
				return false, fmt.Sprintf("tasks %d to %d of the queues are short, and a long one waited", i-w+1, i)
			}
		}
	}
	if !proof {
		return false, fmt.Sprintf("too short to tell: no long task was taken in %d", len(history))
	}
	return true, ""
}

func TestCheckWeight(t *testing.T) {
	s, l, alone := taken{false, true}, taken{true, true}, taken{false, false}
	for _, c := range []struct {
		name    string
		history []taken
		w       int
		holds   bool
	}{
		{"empty", nil, 2, false},
		{"only short ones alone", []taken{alone, alone, alone}, 2, false},
		{"a short one, then a long one", []taken{s, l}, 2, true},
		{"two short ones while a long one waits", []taken{l, s, s, l}, 2, false},
		{"the same for W = 3", []taken{l, s, s, l}, 3, true},
		{"the queue was empty between", []taken{s, alone, s, l}, 2, true},
		{"W = 1 and a short one", []taken{l, s}, 1, false},
	} {
		if holds, reason := checkWeight(c.history, c.w); holds != c.holds {
			t.Errorf("%s: holds is %v (%s)", c.name, holds, reason)
		}
	}
}

// W under random arrivals, ends, cancels, and lost and new workers.
func TestWeightUnderRandomInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SampledFrom([]int{1, 2, 3, 20}).Draw(t, "W")
		generals, reserves := rapid.IntRange(1, 4).Draw(t, "general"), rapid.IntRange(0, 2).Draw(t, "reserved")
		r := newRig(t, w, general(generals), reserved(reserves))
		kinds := make([]bool, generals+reserves) // reserved?
		for i := range reserves {
			kinds[generals+i] = true
		}
		var history []taken
		feed := func(id int32) {
			waiting := r.master.Totals().Queued[sched.Long] > 0
			r.seq[id] += 2
			for _, a := range r.step(worker(id), &sched.Message{Kind: sched.Idle, Seq: r.seq[id]}) {
				if a.Msg.Kind == sched.Launch && !kinds[id] {
					history = append(history, taken{a.Msg.Class == sched.Long, waiting})
				}
				if a.Msg.Kind == sched.Launch && kinds[id] && a.Msg.Class == sched.Long {
					t.Fatal("a reserved worker took a long task")
				}
			}
		}
		job := uint64(0)
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "act") {
			case 0, 1:
				job++
				r.tasks(job, sched.Class(rapid.IntRange(0, 1).Draw(t, "class")), rapid.Int32Range(1, 8).Draw(t, "tasks"))
			case 2:
				r.step(distributor, &sched.Message{Kind: sched.Drop, Job: sched.JobID{Lo: rapid.Uint64Range(0, job).Draw(t, "drop")}})
			default:
				feed(rapid.Int32Range(0, int32(len(kinds)-1)).Draw(t, "worker"))
			}
		}
		// Make it long enough to decide: W and more short tasks, and a long one.
		r.tasks(job+1, sched.Long, 3)
		r.tasks(job+2, sched.Short, int32(3*w))
		for range 6*w + 200*8 {
			if r.master.Queued() == 0 {
				break
			}
			feed(0)
		}
		r.tasks(job+3, sched.Short, int32(generals+reserves))
		r.tasks(job+4, sched.Long, 2)
		r.tasks(job+5, sched.Short, int32(3*w))
		for r.master.Queued() > 0 {
			feed(0)
		}
		if holds, reason := checkWeight(history, w); !holds {
			t.Fatalf("W = %d: %s\n%v", w, reason, history)
		}
	})
}
