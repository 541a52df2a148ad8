package pigeon_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var (
	masterAddr = sched.Addr{Role: sched.Master}
	jobOne     = sched.JobID{Lo: 1}
)

func launch(task int32, seq, epoch uint64, class sched.Class) *sched.Message {
	return &sched.Message{Kind: sched.Launch, Job: jobOne, First: task, Attempt: 1, Class: class, Distributor: distributor, Seq: seq, Epoch: epoch}
}

func ended(task int32, o sched.Outcome) *sched.Message {
	return &sched.Message{Kind: sched.Ended, Job: jobOne, First: task, Attempt: 1, Outcome: o}
}

func setReserved(on bool, epoch, seq uint64) *sched.Message {
	return &sched.Message{Kind: sched.SetReserved, Reserved: on, Epoch: epoch, Seq: seq}
}

// denied is a launch that the worker's shell cannot carry out.
func denied(m *sched.Message) *sched.Message {
	m.Deny("its disk is full")
	return m
}

// preempt launches task 1 in place of task 0.
func preempt(epoch uint64) *sched.Message {
	return &sched.Message{Kind: sched.Preempt, Job: jobOne, First: 1, Attempt: 1, Distributor: distributor, Epoch: epoch, Kept: []sched.AttemptID{{Job: jobOne, Attempt: 1}}}
}

// docs/design.md, section 2, rule 4: "The worker core refuses it on a busy slot, with
// an old epoch or sequence number, or when a long task meets a reserved slot. It
// treats a repetition of the running attempt as accepted."
func TestWorkerIsTheLastJudge(t *testing.T) {
	const id = "00000000000000000000000000000001"
	start := "Start job=" + id + " tasks=0+0#1 owner=distributor 0"
	report := "Send to distributor 0: Report job=" + id + " tasks=0+0#1 done"
	for _, c := range []struct {
		name   string
		before []*sched.Message
		last   *sched.Message
		want   []string
	}{
		{"an idle slot takes a task", nil, launch(0, 0, 1, sched.Long), []string{start}},
		{"the same launch again", []*sched.Message{launch(0, 0, 1, sched.Short)}, launch(0, 0, 1, sched.Short), nil},
		{"a busy slot", []*sched.Message{launch(0, 0, 1, sched.Short)}, launch(1, 0, 1, sched.Short),
			[]string{"Send to master 0: Refused job=" + id + ` tasks=1+0#1 seq=1 reason="the slot is busy"`}},
		{"an end is reported, and the slot is idle", []*sched.Message{launch(0, 0, 1, sched.Short)}, ended(0, sched.Done),
			[]string{report, "Send to master 0: Idle seq=2"}},
		{"an end of something else", []*sched.Message{launch(0, 0, 1, sched.Short)}, ended(1, sched.Done), nil},
		{"an end that comes twice", []*sched.Message{launch(0, 0, 1, sched.Short), ended(0, sched.Done)}, ended(0, sched.Done), nil},
		{"a launch that comes again after the end", []*sched.Message{launch(0, 0, 1, sched.Short), ended(0, sched.Done)}, launch(0, 0, 1, sched.Short), nil},
		{"the attempt launched again, with the current sequence number", []*sched.Message{launch(0, 0, 1, sched.Short), ended(0, sched.Done)}, launch(0, 2, 1, sched.Short), []string{start}},
		{"a launch on older knowledge", []*sched.Message{launch(0, 0, 1, sched.Short), ended(0, sched.Done)}, launch(1, 1, 1, sched.Short),
			[]string{"Send to master 0: Refused job=" + id + ` tasks=1+0#1 seq=3 reason="the slot has changed since"`, "Send to master 0: Idle seq=3"}},
		{"one that the node denies", nil, denied(launch(0, 0, 1, sched.Short)),
			[]string{"Send to master 0: Refused job=" + id + ` tasks=0+0#1 seq=1 reason="its disk is full"`, "Send to master 0: Idle seq=1"}},
		{"the running one, denied", []*sched.Message{launch(0, 0, 1, sched.Short)}, denied(launch(0, 0, 1, sched.Short)), nil},
		{"a preemption that the node denies", []*sched.Message{launch(0, 0, 1, sched.Long)},
			denied(preempt(1)),
			[]string{"Send to master 0: Refused job=" + id + ` tasks=1+0#1 seq=1 reason="its disk is full"`}},
		{"one of a victim that has ended, denied", []*sched.Message{launch(0, 0, 1, sched.Long), ended(0, sched.Done)}, denied(preempt(1)),
			[]string{"Send to master 0: Refused job=" + id + ` tasks=1+0#1 seq=3 reason="its disk is full"`, "Send to master 0: Idle seq=3"}},
		{"an old epoch after a preemption", []*sched.Message{launch(0, 0, 1, sched.Long), ended(0, sched.Done), preempt(2), ended(1, sched.Done)}, launch(2, 4, 1, sched.Short),
			[]string{"Send to master 0: Refused job=" + id + ` tasks=2+0#1 seq=4 reason="the master's epoch is over"`}},
		{"a stale epoch does not change the slot", []*sched.Message{setReserved(false, 2, 1)}, launch(0, 0, 1, sched.Short),
			[]string{"Send to master 0: Refused job=" + id + ` tasks=0+0#1 reason="the master's epoch is over"`}},
		{"a long task at a reserved slot", []*sched.Message{setReserved(true, 1, 1)}, launch(0, 0, 1, sched.Long),
			[]string{"Send to master 0: Refused job=" + id + ` tasks=0+0#1 seq=1 reason="the slot is reserved for short tasks"`, "Send to master 0: Idle seq=1"}},
		{"a short task there", []*sched.Message{setReserved(true, 1, 1)}, launch(0, 0, 1, sched.Short), []string{start}},
		{"an older word on the kind", []*sched.Message{setReserved(false, 1, 2), setReserved(true, 1, 1)}, launch(0, 0, 1, sched.Long), []string{start}},
		{"one of an older epoch", []*sched.Message{setReserved(false, 2, 1), setReserved(true, 1, 9)}, launch(0, 0, 2, sched.Long), []string{start}},
		{"one of a newer epoch", []*sched.Message{setReserved(true, 1, 9), setReserved(false, 2, 1)}, launch(0, 0, 2, sched.Long), []string{start}},
		{"a kill", []*sched.Message{launch(0, 0, 1, sched.Short)}, &sched.Message{Kind: sched.Kill, Job: jobOne, Attempt: 1},
			[]string{"Stop job=" + id + " tasks=0+0#1 owner=distributor 0"}},
		{"a kill of another attempt", []*sched.Message{launch(0, 0, 1, sched.Short)}, &sched.Message{Kind: sched.Kill, Job: jobOne, Attempt: 2}, nil},
		{"a kill that comes late", []*sched.Message{launch(0, 0, 1, sched.Short), ended(0, sched.Done)}, &sched.Message{Kind: sched.Kill, Job: jobOne, Attempt: 1}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := pigeon.NewWorker(sched.WorkerConfig{Master: masterAddr})
			var out sched.Actions
			for _, m := range append(c.before, c.last) {
				out.Reset()
				w.Step(0, masterAddr, m, &out)
			}
			describe(t, out.List(), c.want...)
		})
	}
}

// A slot whose distributor chose its kind applies it from the start.
func TestFixedReservedWorker(t *testing.T) {
	w := pigeon.NewWorker(sched.WorkerConfig{Master: masterAddr, Reserved: true})
	var out sched.Actions
	w.Step(0, masterAddr, launch(0, 0, 1, sched.Long), &out)
	if len(out.List()) != 2 || out.List()[0].Msg.Kind != sched.Refused {
		t.Errorf("a long task at a reserved slot: %v", out.List())
	}
}
