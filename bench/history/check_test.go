package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// at returns an instant of the run, in seconds after its beginning.
func at(seconds float64) Time { return 1e9 + Time(seconds*1e9) }

// ran is a start and an end of an attempt.
func ran(job string, task, attempt int, node string, slot int, from, to float64) []Event {
	e := Event{Event: Start, Job: job, Task: task, Attempt: attempt, Node: node, Slot: slot, Pid: int(1000 * from), Time: at(from)}
	end := e
	end.Event, end.Time = End, at(to)
	return []Event{e, end}
}

// sound is a run of ten seconds of faults without a contradiction: a job that completes, one
// that is cancelled, a node that was killed under a task of a third.
func sound() *Run {
	r := &Run{
		LostAfter: 2 * time.Second, Began: at(0), Healed: at(10), Until: at(25), Done: at(30),
		Frontends: 1, Workers: map[int]int{0: 4}, Nodes: []string{"node-0", "node-1"},
		Jobs: []Job{
			{Key: "short-0", Tasks: 2, Writes: true, Submitted: at(1), Accepted: at(1), Ended: at(3), State: "completed", Completed: 2},
			{Key: "long-1", Long: true, Tasks: 1, Writes: true, Submitted: at(1), Accepted: at(1), Cancelled: at(2), Ended: at(2), State: "cancelled"},
			{Key: "short-2", Tasks: 1, Writes: true, Submitted: at(3), Accepted: at(3), Ended: at(8), State: "completed", Completed: 1},
			{Key: "short-3", Tasks: 1, Submitted: at(3)}, // its client gave up: it was refused
		},
		Faults: []Fault{{Number: 1, Kind: Kill, Victim: "node-0", From: at(5), To: at(5.5)}},
		SparkJobs: []SparkJob{
			{Application: 0, Job: 1, Submitted: at(1), Ended: at(2), State: "completed"},
			{Application: 1, Job: 2, Submitted: at(2), Ended: at(9), State: "completed"},
		},
		Results: []Result{{Job: "short-0", Task: 0, Attempt: 1}, {Job: "short-0", Task: 1, Attempt: 1}, {Job: "short-2", Attempt: 2}},
	}
	add := func(events ...Event) { r.Events = append(r.Events, events...) }
	add(ran("short-0", 0, 1, "node-0", 0, 1.1, 1.5)...)
	add(ran("long-1", 0, 1, "node-0", 1, 1.2, 1.9)...)
	add(ran("short-0", 1, 1, "node-0", 0, 1.6, 2.5)...)
	add(ran("short-2", 0, 1, "node-0", 0, 4.5, 4.6)...) // its result died with the node
	add(ran("short-2", 0, 2, "node-1", 0, 7, 7.5)...)
	for i := range 20 { // the load after healing
		key, began := fmt.Sprintf("short-%d", 10+i), 10+float64(i)/2
		r.Jobs = append(r.Jobs, Job{Key: key, Tasks: 1, Writes: true, Submitted: at(began), Accepted: at(began), Ended: at(began + 0.3), State: "completed", Completed: 1})
		add(ran(key, 0, 1, "node-1", 1, began+0.1, began+0.3)...)
	}
	for i := range 60 {
		t := at(float64(i) / 2)
		r.Slots = append(r.Slots,
			Slot{Time: t, Node: "node-0", Incarnation: 1 + int64(i/11), Epoch: 1, Slot: 0, Seq: uint64(i % 11), Reserved: true, Job: "short-0"},
			Slot{Time: t, Node: "node-1", Incarnation: 1, Epoch: uint64(1 + i/30), Slot: 0, Seq: uint64(i), Job: "long-1"})
		r.Groups = append(r.Groups, Group{Time: t, Workers: 4, Idle: 2, Busy: 2, IdleGeneral: 1, IdleReserved: 1, QueuedShort: i % 2})
	}
	for i := range 120 {
		r.Footprints = append(r.Footprints, Footprint{Time: at(float64(i) / 4), Daemon: "master-0", RSS: 50 << 20, Descriptors: 30 + i%5, Goroutines: 100})
	}
	r.Slots = append(r.Slots, Slot{Time: at(31), Node: "node-0", Incarnation: 9}, Slot{Time: at(31), Node: "node-1", Incarnation: 1, Epoch: 2, Seq: 99})
	r.Groups = append(r.Groups, Group{Time: at(31), Workers: 4, Idle: 4, IdleGeneral: 3, IdleReserved: 1})
	return r
}

// rolling is a rolling restart that stops one daemon.
func rolling(daemon string, from, to float64) Fault {
	return Fault{Number: 1, Kind: Rolling, Victim: "*", From: at(2), To: at(9), Stops: []DaemonStop{{daemon, at(from), at(to)}}}
}

// lostJournal is the loss of a frontend's journal.
func lostJournal(frontend string, from, to float64) Fault {
	return Fault{Number: 2, Kind: JournalLost, Victim: frontend, From: at(from), To: at(to)}
}

// again runs a task of short-0 under the number of its first attempt, and another id of the job.
func again(r *Run) {
	for i := range r.Events {
		r.Events[i].ID = "a"
	}
	second := ran("short-0", 0, 1, "node-1", 0, 2.1, 2.3)
	second[0].ID, second[1].ID = "b", "b"
	r.Events = append(r.Events, second...)
}

// acceptsNothing is a cluster whose frontends accept no job after healing.
func acceptsNothing(r *Run) {
	for i := range r.Jobs {
		if j := &r.Jobs[i]; j.Submitted > at(12) {
			j.Called, j.Accepted, j.Ended, j.State, j.Completed = at(29), 0, 0, "", 0
		}
	}
	r.Events = slices.DeleteFunc(r.Events, func(e Event) bool { return e.Time > at(12.5) }) // the last job that was accepted has ended by then
}

// unaccepted is a node that stops in order with a result that no frontend accepted, because NATS
// servers are lost; the task begins again later.
func unaccepted(servers string, from, to float64) func(*Run) {
	return func(r *Run) {
		r.Faults = []Fault{rolling("node-0", from, to), {Number: 2, Kind: NATSLost, Victim: "nats-0", Peer: servers, From: at(4.5), To: at(5)}}
		for i := range r.Events {
			if e := &r.Events[i]; e.Job == "short-2" && e.Attempt == 2 {
				e.Time += at(2) - at(0)
			}
		}
	}
}

// TestSoundRun: a run without a contradiction has no finding.
func TestSoundRun(t *testing.T) {
	for _, f := range All(sound()) {
		t.Errorf("%+v", f)
	}
}

// TestEachCheckFinds: each check finds the contradiction made for it, and no other
// check does unless the row says so.
func TestEachCheckFinds(t *testing.T) {
	type row struct {
		check string
		what  string // part of the finding
		harm  func(*Run)
		also  string // another check that finds it too
	}
	rows := []row{
		{"jobs were accepted", "none of 1 submitted jobs", func(r *Run) { r.Jobs, r.Events = r.Jobs[3:4], nil }, ""},
		{"jobs were accepted", "none of 0 submitted jobs", func(r *Run) { r.Jobs, r.Events = nil, nil }, ""},
		{"faults took place", "none of 1 planned faults", func(r *Run) { r.Faults[0].Void = true }, EndsOnce},
		{"jobs are known", "frontend 0 did not know job short-0 1s after it had accepted it", func(r *Run) {
			r.Faults = append(r.Faults, lostJournal("frontend-1", 1.2, 1.5)) // another one's
			r.Jobs[0].Forgotten = []Forgotten{{at(1), at(2)}}
		}, ""},
		{"jobs are known", "frontend 0 did not know job short-0 1s after it had accepted it", func(r *Run) { // it is replicated
			r.Standbys = true
			r.Faults = append(r.Faults, lostJournal("frontend-0", 1.2, 1.5))
			r.Jobs[0].Forgotten = []Forgotten{{at(1), at(2)}}
		}, ""},
		{"jobs are known", "job short-0 has two ids, a and b", func(r *Run) {
			r.Faults = append(r.Faults, lostJournal("frontend-0", 8, 9)) // later
			again(r)
		}, ""},
		{StartsOnce, "the same number began again", func(r *Run) { // under the same id
			r.Faults = append(r.Faults, lostJournal("frontend-0", 1.2, 1.5))
			again(r)
			for i := range r.Events {
				r.Events[i].ID = ""
			}
		}, EndsOnce},
		{"completed tasks ran", "short-0 completed, and no attempt of task 1", func(r *Run) { // it was killed, and reported as done
			r.Events = slices.DeleteFunc(r.Events, func(e Event) bool { return e.Job == "short-0" && e.Task == 1 && e.Event == End })
		}, ""},
		{"completed tasks ran", "short-2 completed, and no attempt of task 0", func(r *Run) { // it never started
			r.Events = slices.DeleteFunc(r.Events, func(e Event) bool { return e.Job == "short-2" })
		}, ""},
		{"accepted jobs end", "short-0", func(r *Run) { r.Jobs[0].Ended = 0 }, ""},
		{"submissions are accepted after healing", "frontend 0 never accepted 1 jobs that were submitted until after healing, the first of them short-3 until 16s after it: no answer", func(r *Run) { r.Jobs[3].Called, r.Jobs[3].Reason = at(26), "no answer" }, ""},
		{"submissions are accepted after healing", "the first of them short-3 ", func(r *Run) { r.Jobs[3].Submitted = at(16) }, ""}, // its first submission was not answered
		{"submissions are accepted after healing", "accepted 15 jobs", acceptsNothing, "throughput"},
		{"throughput", "12 short tasks arrived and 0 ended", acceptsNothing, "submissions are accepted after healing"},
		{"jobs complete", "short-0 failed, and not because a task of it took down 3 nodes: exit status 1", func(r *Run) { r.Jobs[0].Writes, r.Jobs[0].State, r.Jobs[0].Reason = false, "failed", "exit status 1" }, ""},
		{"jobs complete", "2 nodes within", func(r *Run) {
			r.Jobs[0].Writes, r.Jobs[0].State, r.Jobs[0].Reason = false, "failed", "task 0 was lost with 2 nodes within 300 s, a and b"
		}, ""},
		{"jobs complete", "lost thrice", func(r *Run) { r.Jobs[0].State, r.Jobs[0].Reason = "failed", "lost thrice" }, ""},
		{"jobs complete", "1 of its 2", func(r *Run) { r.Jobs[0].Completed = 1 }, ""},
		{"Spark jobs complete", "job 2 of Spark application 1 has not ended: killed", func(r *Run) { r.SparkJobs[1].Ended, r.SparkJobs[1].Why = 0, []string{"killed"} }, ""},
		{"Spark jobs complete", "job 1 of Spark application 0 failed", func(r *Run) { r.SparkJobs[0].State = "failed" }, ""},
		{"one result", "attempts 1 and 2", func(r *Run) { r.Results = append(r.Results, Result{Job: "short-0", Task: 0, Attempt: 2}) }, ""},
		{StartsOnce, "attempt 1", func(r *Run) { r.Events = append(r.Events, ran("short-0", 0, 1, "node-1", 0, 6, 6.1)[:1]...) }, ""},
		{"slots hold one", "node-1 slot 1", func(r *Run) { r.Events = append(r.Events, ran("short-9", 0, 1, "node-1", 1, 10, 10.2)...) }, ""},
		{EndsOnce, "node-1", func(r *Run) { r.Events = append(r.Events, ran("short-2", 0, 3, "node-1", 0, 8, 8.5)...) }, ""},
		{EndsOnce, "node-0", func(r *Run) { r.Faults[0].Void = true }, "faults took place"},
		{EndsOnce, "node-0", func(r *Run) { r.Faults[0].Kind = Pause }, ""}, // half a second: not lost
		{EndsOnce, "node-0", func(r *Run) { r.Faults[0].Kind = TaskKill }, ""},
		{EndsOnce, "node-0", func(r *Run) { r.Faults[0] = rolling("node-0", 5.2, 5.5) }, ""}, // it had ended before
		{EndsOnce, "node-0", func(r *Run) { r.Faults[0] = rolling("node-1", 4.5, 5) }, ""},   // another node's
		{EndsOnce, "node-0", func(r *Run) { r.Faults[0] = rolling("node-0", 4.2, 4.5) }, ""},
		{EndsOnce, "node-0", unaccepted("nats-1", 5.2, 6), ""},   // the results were accepted
		{EndsOnce, "node-0", unaccepted("nats-1", 5.2, 8), ""},   // they were left to the next process
		{EndsOnce, "node-0", unaccepted("", 5.2, 8), ""},         // two of three servers accept them
		{EndsOnce, "node-0", unaccepted("nats-1", 5.2, 9.5), ""}, // it had begun again before
		{"reserved slots", "slot 0 of node-0", func(r *Run) { r.Slots[2*5].Job = "long-1" }, ""},
		{"epochs rise", "epoch 2", func(r *Run) { r.Slots[2*55+1].Epoch = 1 }, ""},
		{"epochs rise", "sequence number 99", func(r *Run) {
			r.Slots = append(r.Slots, Slot{Time: at(32), Node: "node-1", Incarnation: 1, Epoch: 2, Seq: 98})
		}, ""},
		{"no worker leaked", "3 idle", func(r *Run) { r.Groups[len(r.Groups)-1].Idle = 3 }, ""},
		{"no worker leaked", "group 0 with 2 of its 4 workers", func(r *Run) {
			g := &r.Groups[len(r.Groups)-1]
			g.Workers, g.Idle, g.IdleGeneral = 2, 2, 1
		}, ""},
		{"no worker leaked", "group 0 with 0 of its 4 workers", func(r *Run) { r.Groups[len(r.Groups)-1] = Group{Time: at(31)} }, ""},
		{"no worker leaked", "frontend 0 does not report group 0", func(r *Run) { r.Groups = r.Groups[:len(r.Groups)-1] }, ""},
		{"no worker leaked", "frontend 0 does not report group 1", func(r *Run) { r.Workers[1] = 4 }, ""},
		{"no worker leaked", "frontend 1 does not report group 0", func(r *Run) { r.Frontends = 2 }, ""},
		{"no worker leaked", "node-1 does not report its slots", func(r *Run) { r.Slots = r.Slots[:len(r.Slots)-1] }, ""},
		{"no worker leaked", "still runs", func(r *Run) { r.Slots[len(r.Slots)-1].Job = "short-0" }, ""},
		{"no worker leaked", "still asks", func(r *Run) { r.Slots[len(r.Slots)-1].Asks = true }, ""},
		{"work conservation", "1 idle workers", func(r *Run) {
			r.SparkJobs = nil
			for i := range r.Groups {
				r.Groups[i].QueuedShort, r.Groups[i].IdleReserved = 1, 0
			}
		}, "no worker leaked"},
		{"work conservation", "1 long", func(r *Run) {
			r.SparkJobs = nil
			for i := range 60 {
				r.Groups[i].QueuedLong = 1
			}
		}, ""},
		{"throughput", "ended", func(r *Run) {
			r.Events = slices.DeleteFunc(r.Events, func(e Event) bool { return e.Time > at(14) && e.Time < at(18) })
		}, "completed tasks ran"},
		{"cancel is final", "long-1", func(r *Run) { r.Events = append(r.Events, ran("long-1", 0, 2, "node-1", 0, 13, 13.1)[:1]...) }, ""},
		{"flat", "memory", func(r *Run) {
			for i := range r.Footprints {
				r.Footprints[i].RSS = int64(i) * (4 << 20)
			}
		}, ""},
		{"flat", "descriptors", func(r *Run) {
			for i := range r.Footprints {
				r.Footprints[i].Descriptors = 6 * i
			}
		}, ""},
		{"flat", "goroutines", func(r *Run) {
			for i := range r.Footprints {
				r.Footprints[i].Goroutines = 10 * i
			}
		}, ""},
		{"processes", "frontend-1", func(r *Run) { // the disk of another one failed
			r.Faults = append(r.Faults, Fault{Number: 2, Kind: BadDisk, Victim: "frontend-0", From: at(3), To: at(7)})
			r.Ends = []ProcessEnd{{Time: at(4), Daemon: "frontend-1", What: "it ended by itself"}}
		}, ""},
		{"processes", "frontend-0", func(r *Run) { // it was only slow
			r.Faults = append(r.Faults, Fault{Number: 2, Kind: SlowDisk, Victim: "frontend-0", From: at(3), To: at(7)})
			r.Ends = []ProcessEnd{{Time: at(4), Daemon: "frontend-0", What: "it ended by itself"}}
		}, ""},
		{"processes", "by itself", func(r *Run) { r.Ends = []ProcessEnd{{Time: at(4), Daemon: "node-0", What: "it ended by itself"}} }, ""},
	}
	controlled := map[string]bool{}
	for i, row := range rows {
		controlled[row.check] = true
		r := sound()
		row.harm(r)
		found := false
		for _, f := range All(r) {
			switch {
			case f.Check == row.check:
				found = found || strings.Contains(f.What, row.what)
			case f.Check != row.also:
				t.Errorf("row %d, for %q: %+v", i, row.check, f)
			}
		}
		if !found {
			t.Errorf("row %d: %q did not find it: %+v", i, row.check, All(r))
		}
	}
	for _, c := range Checks() {
		if !controlled[c.Name] {
			t.Errorf("no row breaks a run for the check %q", c.Name)
		}
	}
}

// TestReasonsCount: an apparent contradiction has a reason.
func TestReasonsCount(t *testing.T) {
	for name, harm := range map[string]func(*Run){
		"a policy that binds tasks to workers": func(r *Run) {
			r.Binds = true
			for i := range 60 {
				r.Groups[i].QueuedLong = 1
			}
		},
		"a launch that arrives late": func(r *Run) {
			r.Faults = append(r.Faults, Fault{Number: 2, Kind: Partition, Victim: "master-0", Peer: "node-2", From: at(7.1), To: at(7.9)})
			for i := range r.Events {
				if e := &r.Events[i]; e.Job == "short-2" && e.Attempt == 2 {
					e.Attempt = 3
				}
			}
			r.Events = append(r.Events, ran("short-2", 0, 2, "node-2", 0, 8, 8.5)...)
		},
		"a node that is stopped while a task of it ends":  func(r *Run) { r.Faults[0] = rolling("node-0", 4.55, 4.65) },
		"a node that is stopped while a task of it exits": func(r *Run) { r.Faults[0] = rolling("node-0", 4.65, 4.75) },
		"a job that was submitted again after its first attempt": func(r *Run) {
			r.Faults[0].Victim = "node-7"
			r.Jobs[2].Called, r.Jobs[2].Accepted = at(4.6), at(4.7)
		},
		"a frontend that lost its journal": func(r *Run) {
			r.Faults = append(r.Faults, lostJournal("frontend-0", 1.2, 1.5))
			r.Jobs[0].Forgotten, r.Jobs[0].Accepted, r.Jobs[0].Called = []Forgotten{{at(1), at(1.6)}}, at(1.7), at(1.7)
			again(r)
			r.Results = append(r.Results, Result{Job: "short-0", Task: 0, Attempt: 1})
		},
		"a policy that suspends tasks": func(r *Run) {
			r.Suspends = true
			r.Events = append(r.Events, ran("short-9", 0, 1, "node-1", 1, 10, 10.2)...)
		},
		"a node cut off from a frontend": func(r *Run) {
			r.Faults = append(r.Faults, Fault{Number: 2, Kind: OneWay, Victim: "frontend-0", Peer: "node-1", From: at(7.1), To: at(7.9)})
			r.Events = append(r.Events, ran("short-2", 0, 3, "node-1", 0, 8, 8.5)...)
		},
		"a master cut off from all": func(r *Run) {
			r.Faults = append(r.Faults, Fault{Number: 2, Kind: Isolation, Victim: "master-0", Peer: "*", From: at(7.1), To: at(7.9)})
			r.Events = append(r.Events, ran("short-2", 0, 3, "node-1", 0, 8, 8.5)...)
		},
		"a node paused for long": func(r *Run) {
			r.Faults = append(r.Faults, Fault{Number: 2, Kind: Pause, Victim: "node-1", From: at(6), To: at(7.9)})
			r.Events = append(r.Events, ran("short-2", 0, 3, "node-1", 0, 8, 8.5)...)
		},
		"a cancellation under a fault": func(r *Run) {
			r.Faults = append(r.Faults, Fault{Number: 2, Kind: Isolation, Victim: "node-1", Peer: "*", From: at(1.9), To: at(7)})
			r.Events = append(r.Events, ran("long-1", 0, 2, "node-1", 0, 11.9, 12)[:1]...)
		},
		"a frontend whose disk fails": func(r *Run) {
			r.FailingDisk, r.Ends = "frontend-0", []ProcessEnd{{Time: at(7), Daemon: "frontend-0", What: "it ended by itself"}}
		},
		"a frontend whose disk failed for a time": func(r *Run) {
			r.Faults = append(r.Faults, Fault{Number: 2, Kind: BadDisk, Victim: "frontend-0", From: at(6), To: at(7.9)})
			r.Ends = []ProcessEnd{{Time: at(7), Daemon: "frontend-0", What: "it ended by itself"}}
		},
		"a frontend whose disk was full": func(r *Run) {
			r.Faults = append(r.Faults, Fault{Number: 2, Kind: FullDisk, Victim: "frontend-0", From: at(6), To: at(7.9)})
			r.Ends = []ProcessEnd{{Time: at(7), Daemon: "frontend-0", What: "it ended by itself"}}
		},
		"a standby that reports for its frontend": func(r *Run) { r.Groups[len(r.Groups)-1].Frontend = 1 },
		"a frontend whose disk fails until the end": func(r *Run) {
			r.Frontends, r.FailingDisk = 2, "frontend-1"
			r.Jobs[3].Frontend, r.Jobs[3].Called = 1, at(29)
		},
		"a job without histories that took down three nodes": func(r *Run) {
			j := &r.Jobs[0]
			j.Writes, j.State, j.Reason = false, "failed", "task 1 was lost with 3 nodes within 300 s, a, b and c, the last time because it is gone"
		},
		"a task that took down three nodes": func(r *Run) {
			for i := range 3 {
				node, from := fmt.Sprintf("node-%d", 5+i), 4+float64(i)
				r.Faults = append(r.Faults, Fault{Number: 2 + i, Kind: Kill, Victim: node, From: at(from + 0.5), To: at(from + 1)})
				r.Events = append(r.Events, ran("short-0", 1, 2+i, node, 0, from, from)[0])
			}
			r.Jobs[0].State = "failed"
		},
		"a new master, which released a reserved slot for a moment": func(r *Run) {
			r.Slots[2*5].Job = "long-1"
			for i := 2 * 5; i < len(r.Slots); i++ {
				if s := &r.Slots[i]; s.Node == "node-0" && s.Time < at(31) {
					s.Epoch = 2
				}
			}
		},
		"a suspended task whose node went down": func(r *Run) {
			r.Suspends, r.Jobs[0].State = true, "failed"
			for i := range 3 {
				node, from := fmt.Sprintf("node-%d", 5+i), 4+3*float64(i)
				r.Faults = append(r.Faults, Fault{Number: 2 + i, Kind: Kill, Victim: node, From: at(from + 2), To: at(from + 2.5)})
				r.Events = append(r.Events, ran("short-0", 1, 2+i, node, 0, from, from)[0])
			}
		},
		"a task that took down two nodes and was sent to a third one that was paused": func(r *Run) {
			r.Nodes = append(r.Nodes, "node-5")
			r.Slots = append(r.Slots, Slot{Time: at(31), Node: "node-5"})
			r.Faults = append(r.Faults, Fault{Number: 2, Kind: Pause, Victim: "node-1", From: at(3.1), To: at(6)}, Fault{Number: 3, Kind: Pause, Victim: "node-5", From: at(6), To: at(9)})
			r.Events = append(r.Events, ran("long-4", 0, 1, "node-1", 1, 3, 3)[0], ran("long-4", 0, 2, "node-0", 1, 4.8, 5)[0])
			r.Jobs = append(r.Jobs, Job{Key: "long-4", Tasks: 1, Writes: true, Submitted: at(3), Accepted: at(3), Ended: at(9), State: "failed", Reason: "task 0 was lost with 3 nodes within 600 s, node-1, node-0 and node-5, the last time because node node-5: it was silent for 2s"})
		},
	} {
		r := sound()
		harm(r)
		for _, f := range All(r) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestBegunFaults: a finding names the number of faults that had begun.
func TestBegunFaults(t *testing.T) {
	r := sound()
	r.Faults = append(r.Faults, Fault{Number: 2, From: at(7)}, Fault{Number: 3, From: at(9)})
	r.Jobs[0].State, r.Jobs[0].Ended = "failed", at(8)
	r.Jobs[2].Ended = 0
	list := All(r)
	if len(list) != 2 || list[0].Faults != 3 || list[1].Faults != 2 {
		t.Errorf("%+v", list)
	}
}
