package pigeon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// history sends a master and a distributor many applications, nodes and jobs, lets
// workers arrive, leave and change, and returns every action as text. Output
// that depended on the order of a map would differ the next time.
func history() []string {
	const apps, workers, jobs = 200, 200, 150
	m := pigeon.NewMaster(sched.MasterConfig{Recover: true, Params: sched.Params{Weight: 4, Reserved: 0.2}})
	d := pigeon.NewDistributor(sched.DistributorConfig{Self: distributor, Seed: 7})
	r := sched.Rand(9, 0)
	app := func() string { return fmt.Sprintf("app-%03d", r.IntN(apps)) }
	serves := func() []string {
		names := []string{"", app(), app(), app()}
		slices.Sort(names)
		return slices.Compact(names)
	}
	var lines []string
	var timer uint64 // the last
	var out sched.Actions
	step := func(c sched.Core, from sched.Addr, msg sched.Message) {
		out.Reset()
		c.Step(sched.Time(len(lines)), from, &msg, &out)
		for i := range out.List() {
			lines = append(lines, sched.DescribeAction(&out.List()[i]))
			if out.List()[i].Kind == sched.Timer {
				timer = out.List()[i].Token
			}
		}
	}
	for i := range int32(workers) {
		step(m, sched.Addr{}, sched.Message{Kind: sched.WorkerUp, Peer: worker(i), Node: fmt.Sprintf("n%d", r.IntN(70)), Serves: serves()})
	}
	for g := range int32(9) {
		step(d, sched.Addr{}, sched.Message{Kind: sched.MasterUp, Peer: group(g), Serves: serves()})
	}
	for i := range uint64(jobs) {
		name, class, count := app(), sched.Class(r.IntN(2)), int32(1+r.IntN(20))
		step(d, sched.Addr{}, sched.Message{Kind: sched.Submit, Job: sched.JobID{Lo: i}, Key: i, App: name, Class: class, Count: count})
		step(m, distributor, sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: i}, App: name, Class: class, Count: count, Attempt: 1, Distributor: distributor, Resent: i%5 == 0})
	}
	step(m, sched.Addr{}, sched.Message{Kind: sched.Timeout})
	for seq := range uint64(3000) {
		w := int32(r.IntN(workers))
		switch r.IntN(20) {
		case 0:
			step(m, sched.Addr{}, sched.Message{Kind: sched.WorkerLost, Peer: worker(w)})
			step(m, sched.Addr{}, sched.Message{Kind: sched.WorkerUp, Peer: worker(w), Node: "again", Serves: serves(), Seq: seq})
		case 1:
			step(m, sched.Addr{}, sched.Message{Kind: sched.WorkerServes, Peer: worker(w), Serves: serves()})
		case 2:
			step(d, group(int32(r.IntN(9))), sched.Message{Kind: sched.Serves, Serves: serves()})
		case 3:
			step(d, sched.Addr{}, sched.Message{Kind: sched.MasterLost, Peer: group(int32(r.IntN(9)))})
			step(d, sched.Addr{}, sched.Message{Kind: sched.Timeout, Token: timer})
		case 4:
			step(d, sched.Addr{}, sched.Message{Kind: sched.MasterUp, Peer: group(int32(r.IntN(9))), Serves: serves()})
		default:
			step(m, worker(w), sched.Message{Kind: sched.Idle, Seq: seq + 1})
		}
	}
	return lines
}

func TestSameInputsSameActions(t *testing.T) {
	first := history()
	for _, kind := range []string{"Launch", "Returned", "Serves", "Tasks", "NewAttempt"} {
		if !slices.ContainsFunc(first, func(l string) bool { return strings.Contains(l, kind) }) {
			t.Errorf("no %s among %d actions: the test shows little", kind, len(first))
		}
	}
	for range 3 {
		again := history()
		for i := range min(len(first), len(again)) {
			if first[i] != again[i] {
				t.Fatalf("action %d of the same inputs is %q, was %q", i, again[i], first[i])
			}
		}
		if len(first) != len(again) {
			t.Fatalf("the same inputs caused %d actions, then %d", len(first), len(again))
		}
	}
}
