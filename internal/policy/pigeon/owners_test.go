package pigeon_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// crowd is a master whose workers run tasks of owners for as long as they last, in order
// of their ends: a simulation of one group without delays.
type crowd struct {
	t       tester
	master  sched.MasterCore
	now     sched.Time
	out     sched.Actions
	busy    []run // by end
	seq     map[int32]uint64
	jobs    uint64
	length  map[sched.JobID]sched.Time
	class   map[sched.JobID]sched.Class
	used    map[string]sched.Time
	started []string // owners, in order of launch
	idle    int
	checked bool
	ended   func(owner string)
}

type run struct {
	end, since sched.Time
	worker     int32
	job        sched.JobID
	owner      string
}

const crowdCutoff = 10 * sched.Second

func newCrowd(t tester, workers int, o *pigeon.Options) *crowd {
	cfg := sched.MasterConfig{Params: sched.Params{Weight: 20, Cutoff: crowdCutoff}}
	c := &crowd{
		t: t, seq: map[int32]uint64{}, length: map[sched.JobID]sched.Time{}, class: map[sched.JobID]sched.Class{}, used: map[string]sched.Time{}, idle: workers, checked: true,
	}
	if c.master = pigeon.NewMaster(cfg); o != nil {
		c.master = pigeon.NewMasterWith(cfg, *o)
	}
	for i := range workers {
		c.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerUp, Peer: worker(int32(i)), Node: fmt.Sprintf("n%03d", i), Serves: []string{""}})
	}
	return c
}

func (c *crowd) shares(halfLife sched.Time, list ...sched.Share) {
	c.step(sched.Addr{}, &sched.Message{Kind: sched.SetShares, More: &sched.More{Shares: list, HalfLife: halfLife}})
}

// submit sends count tasks of an owner, each of the given duration.
func (c *crowd) submit(owner string, class sched.Class, count int32, length, estimate sched.Time) sched.JobID {
	c.jobs++
	id := sched.JobID{Lo: c.jobs}
	c.length[id], c.class[id] = length, class
	c.step(distributor, &sched.Message{
		Kind: sched.Tasks, Job: id, Class: class, Count: count, Attempt: 1, Distributor: distributor, Owner: owner, Estimate: estimate, Arrival: c.now,
	})
	return id
}

func (c *crowd) step(from sched.Addr, m *sched.Message) {
	c.t.Helper()
	c.out.Reset()
	c.master.Step(c.now, from, m, &c.out)
	if c.checked {
		if err := c.master.Valid(); err != nil {
			c.t.Fatalf("after %s: %v", sched.Describe(m), err)
		}
	}
	for _, a := range c.out.List() {
		if a.Msg.Kind != sched.Launch {
			continue
		}
		r := run{end: c.now + c.length[a.Msg.Job], since: c.now, worker: a.To.ID, job: a.Msg.Job, owner: a.Msg.Owner}
		at, _ := slices.BinarySearchFunc(c.busy, r, func(a, b run) int {
			if a.end <= b.end {
				return -1
			}
			return 1
		})
		c.busy = slices.Insert(c.busy, at, r)
		c.started = append(c.started, r.owner)
		c.idle--
	}
}

// next ends the task that ends first; false when nothing runs.
func (c *crowd) next() bool {
	if len(c.busy) == 0 {
		return false
	}
	r := c.busy[0]
	c.busy = slices.Delete(c.busy, 0, 1)
	c.now = r.end
	c.used[r.owner] += r.end - r.since
	c.idle++
	if c.ended != nil {
		c.ended(r.owner)
	}
	c.seq[r.worker] += 2
	c.step(worker(r.worker), &sched.Message{Kind: sched.Idle, Seq: c.seq[r.worker]})
	return true
}

// until runs until the time, and counts the tasks that run then.
func (c *crowd) until(end sched.Time) {
	for len(c.busy) > 0 && c.busy[0].end <= end {
		c.next()
	}
	c.now = end
	for i := range c.busy {
		c.used[c.busy[i].owner] += c.now - c.busy[i].since
		c.busy[i].since = c.now
	}
}

// jain is Jain's index of fairness: 1 when all are equal.
func jain(used []float64) float64 {
	var sum, squares float64
	for _, u := range used {
		sum += u
		squares += u * u
	}
	return sum * sum / (float64(len(used)) * squares)
}

// The flood of one owner: 1,200 tasks of 100 ms on 8 workers, then two of another one,
// which start as soon as two workers are free.
func TestAFloodHoldsUpNobody(t *testing.T) {
	for name, o := range map[string]*pigeon.Options{"pigeon": nil, "pigeon-sort": {Sorted: true, Tail: true}} {
		for _, estimate := range []sched.Time{0, 100 * sched.Millisecond, sched.Second} {
			c := newCrowd(t, 8, o)
			c.submit("flood", sched.Short, 1200, 100*sched.Millisecond, estimate)
			c.until(350 * sched.Millisecond)
			c.submit("alice", sched.Short, 2, 100*sched.Millisecond, estimate)
			at := len(c.started)
			c.next()
			c.next()
			if got := c.started[at:]; !slices.Equal(got, []string{"alice", "alice"}) {
				t.Errorf("%s, estimate %v: the next are of %q", name, estimate, got)
			}
		}
	}
}

// Equal owners that always have work get equal parts of 120 workers, however long their
// tasks are.
func TestEqualOwners(t *testing.T) {
	for name, o := range map[string]*pigeon.Options{"pigeon": nil, "pigeon-sort": {Sorted: true, Tail: true}} {
		for _, estimate := range []sched.Time{0, 400 * sched.Millisecond} {
			c := newCrowd(t, 120, o)
			c.checked = false
			const owners = 10
			owner := func(i int) string { return fmt.Sprintf("owner-%d", i) }
			for i := range owners {
				for range 20 {
					c.submit(owner(i), sched.Short, 600, sched.Time(100+70*i)*sched.Millisecond, estimate)
				}
			}
			c.until(30 * sched.Second)
			used := make([]float64, owners)
			for i := range used {
				used[i] = c.used[owner(i)].Seconds()
			}
			if j := jain(used); j < 0.995 {
				t.Errorf("%s, estimate %v: Jain's index is %.4f: %v", name, estimate, j, used)
			}
		}
	}
}

// Weights 1, 2 and 4, of owners and of teams.
func TestWeights(t *testing.T) {
	for _, class := range []sched.Class{sched.Short, sched.Long} {
		for _, halfLife := range []sched.Time{0, 60 * sched.Second} {
			c := newCrowd(t, 120, nil)
			c.checked = false
			c.shares(halfLife, sched.Share{Owner: "a", Weight: 1}, sched.Share{Owner: "b", Weight: 2}, sched.Share{Owner: "c", Weight: 4})
			list := []string{"a/x", "a/y", "b/x", "b/x/y", "b", "c"}
			for _, owner := range list {
				for range 40 {
					c.submit(owner, class, 600, 200*sched.Millisecond, 0)
				}
			}
			c.until(30 * sched.Second)
			total := 120 * 30.0
			for owner, want := range map[string]float64{"a/x": 1. / 14, "a/y": 1. / 14, "b": 1. / 7, "b/x": 1. / 14, "b/x/y": 1. / 14, "c": 4. / 7} {
				if got := c.used[owner].Seconds() / total; math.Abs(got/want-1) > 0.01 {
					t.Errorf("%v, half-life %v: %s has %.4f of the workers, want %.4f", class, halfLife, owner, got, want)
				}
			}
		}
	}
}

// docs/policies.md: "one worker, tasks of 1 s with right estimates, a (weight 1) and b
// (weight 2) begin to wait together, a first ... a runs ... b ... b ... a ... b ... b ... a."
func TestTwoOwners(t *testing.T) {
	c := newCrowd(t, 1, nil)
	c.shares(0, sched.Share{Owner: "b", Weight: 2})
	c.submit("", sched.Short, 1, sched.Second, sched.Second)
	c.submit("a", sched.Short, 5, sched.Second, sched.Second)
	c.submit("b", sched.Short, 5, sched.Second, sched.Second)
	for range 7 {
		c.next()
	}
	if want := []string{"", "a", "b", "b", "a", "b", "b", "a"}; !slices.Equal(c.started, want) {
		t.Errorf("served in the order %q, want %q", c.started, want)
	}
}
