package pigeon_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// view returns what the master shows of an owner.
func (c *crowd) view(owner string) (v sched.OwnerView) {
	for _, v = range c.master.Owners() {
		if v.Owner == owner {
			return v
		}
	}
	return sched.OwnerView{}
}

func (c *crowd) running(owner string) int {
	v := c.view(owner)
	return v.Running[sched.Short] + v.Running[sched.Long]
}

// An owner at its max launches nothing, although workers are idle; they serve it when
// its max is raised, and when one of its tasks ends.
func TestMax(t *testing.T) {
	c := newCrowd(t, 8, nil)
	c.shares(0, sched.Share{Owner: "t", Weight: 1, Max: 0.5}, sched.Share{Owner: "t/a", Weight: 1, Max: 0.25})
	c.submit("t/a", sched.Short, 20, sched.Second, 0)
	if got := c.running("t/a"); got != 2 || c.idle != 6 {
		t.Fatalf("t/a runs %d, want 2; %d idle", got, c.idle)
	}
	c.submit("t/b", sched.Short, 20, sched.Second, 0)
	if got := c.running("t"); got != 4 || c.idle != 4 {
		t.Fatalf("t runs %d, want 4; %d idle", got, c.idle)
	}
	c.submit("u", sched.Long, 3, 3*sched.Second, 0)
	if c.running("u") != 3 || c.idle != 1 {
		t.Fatalf("u runs %d, want 3", c.running("u"))
	}
	c.shares(0, sched.Share{Owner: "t", Weight: 1, Max: 0.6})
	if got := c.running("t"); got != 4 {
		t.Fatalf("t runs %d, want 4, since 0.6 x 8 is below 5", got)
	}
	c.shares(0, sched.Share{Owner: "t", Weight: 1, Max: 0.7})
	if got := c.running("t"); got != 5 || c.idle != 0 {
		t.Fatalf("t runs %d, want 5; %d idle", got, c.idle)
	}
	c.shares(0, sched.Share{Owner: "t", Weight: -1})
	if v := c.view("t"); v.Share.Max != 0.7 {
		t.Errorf("a bad list was accepted: %+v", v)
	}
	c.shares(0)
	for c.next() {
		if waiting := c.view("t").Queued[sched.Short]; c.idle > 0 && waiting > 0 {
			t.Fatalf("%d workers are idle, %d tasks wait", c.idle, waiting)
		}
	}
}

// A max of an owner below another leaves the workers to others, although the owner above is served
// next by its use.
func TestMaxBelow(t *testing.T) {
	c := newCrowd(t, 4, nil)
	c.shares(0, sched.Share{Owner: "t/a", Weight: 1, Max: 0.25})
	c.submit("t/a", sched.Short, 5, 100*sched.Second, sched.Second)
	c.submit("u", sched.Short, 20, sched.Second, sched.Second)
	for range 10 {
		c.next()
		if a, u := c.running("t/a"), c.running("u"); a != 1 || u != 3 {
			t.Fatalf("t/a runs %d and u %d, want 1 and 3", a, u)
		}
	}
}

// A worker that is idle because of a max serves the owner as soon as a task of it ends
// elsewhere, on a worker that another owner gets.
func TestAnIdleWorkerIsOfferedAgain(t *testing.T) {
	c := newCrowd(t, 2, nil)
	c.shares(0, sched.Share{Owner: "a", Weight: 1, Max: 0.5})
	c.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerServes, Peer: worker(1), Serves: []string{"", "x"}})
	c.submit("a", sched.Short, 5, sched.Second, 0) // worker 1 is no longer the one idle longest: 0 runs it
	c.jobs++
	c.length[sched.JobID{Lo: c.jobs}] = 2 * sched.Second
	if c.running("a") != 1 || c.idle != 1 {
		t.Fatalf("a runs %d, %d idle", c.running("a"), c.idle)
	}
	c.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerUp, Peer: worker(2), Node: "n", Serves: []string{""}})
	c.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerUp, Peer: worker(3), Node: "n", Serves: []string{""}})
	if c.running("a") != 2 {
		t.Fatalf("a runs %d of 4 workers, want 2", c.running("a"))
	}
	c.next()
	if c.running("a") != 2 {
		t.Fatalf("a runs %d after the end of a task, want 2", c.running("a"))
	}
}

// An owner that runs less than its min goes before those that have used less.
func TestMin(t *testing.T) {
	c := newCrowd(t, 10, nil)
	c.shares(0, sched.Share{Owner: "a", Weight: 0.001, Min: 0.3})
	c.submit("b", sched.Short, 100, sched.Second, 0)
	c.until(100 * sched.Millisecond)
	c.submit("a", sched.Short, 100, sched.Second, 0)
	for range 30 {
		c.next()
	}
	if got := c.running("a"); got != 3 {
		t.Errorf("a runs %d, want its min, 3", got)
	}
	v := c.view("a")
	if v.Entitled < 2.99 || v.Entitled > 3.01 {
		t.Errorf("a is entitled to %.3f", v.Entitled)
	}
}

// The time past the cutoff that short tasks use is charged to their owner's long share:
// its long tasks come after those of another owner until that has used as much.
func TestOverrunsAreChargedToTheLongShare(t *testing.T) {
	c := newCrowd(t, 1, nil)
	c.submit("liar", sched.Short, 1, 60*sched.Second, 0) // the cutoff is 10 s
	c.submit("liar", sched.Long, 10, 10*sched.Second, 10*sched.Second)
	c.submit("honest", sched.Long, 10, 10*sched.Second, 10*sched.Second)
	for range 8 {
		c.next()
	}
	want := []string{"liar", "honest", "honest", "honest", "honest", "honest", "liar", "honest"}
	if !slices.Equal(c.started[:8], want) {
		t.Errorf("served in the order %q, want %q", c.started[:8], want)
	}
	if v := c.view("liar"); v.Used[sched.Short] != 10*sched.Second {
		t.Errorf("the liar has used %v as short", v.Used[sched.Short])
	}
}

// docs/policies.md: "The cost is the job's estimate; without one, the moving mean [...]; else the cutoff."
func TestCostWithoutAnEstimate(t *testing.T) {
	c := newCrowd(t, 1, nil)
	c.submit("x", sched.Short, 1, 1000*sched.Second, sched.Second)
	c.submit("a", sched.Long, 4, 1000*sched.Second, 0)
	c.submit("b", sched.Long, 4, 1000*sched.Second, crowdCutoff/2)
	for id := range int32(4) {
		c.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerUp, Peer: worker(1 + id), Node: "n", Serves: []string{""}})
	}
	if want := []string{"x", "a", "b", "b", "a"}; !slices.Equal(c.started, want) {
		t.Errorf("served in the order %q, want %q: a task of a costs as much as two of b", c.started, want)
	}
}

// An owner that was away saves nothing up, but is not charged for time that no
// other owner wanted.
func TestIdleSharesAreLentAndForgotten(t *testing.T) {
	c := newCrowd(t, 1, nil)
	c.submit("a", sched.Short, 200, 100*sched.Millisecond, 100*sched.Millisecond)
	for range 100 {
		c.next()
	}
	c.submit("b", sched.Short, 100, 100*sched.Millisecond, 100*sched.Millisecond)
	at := len(c.started)
	for range 20 {
		c.next()
	}
	if n := count(c.started[at:], "a"); n < 9 || n > 10 {
		t.Errorf("a has %d of 20 tasks: %q", n, c.started[at:])
	}
}

func count(list []string, of string) (n int) {
	for _, s := range list {
		if s == of {
			n++
		}
	}
	return n
}

// With a half-life the long class remembers what an owner used while it was alone.
func TestHalfLife(t *testing.T) {
	for _, x := range []struct {
		halfLife sched.Time
		least    int // of the next ten tasks, those of the other owner
		most     int
	}{{0, 5, 6}, {1000 * sched.Second, 10, 10}, {2 * sched.Second, 5, 9}} {
		c := newCrowd(t, 1, nil)
		c.shares(x.halfLife)
		c.submit("a", sched.Long, 200, sched.Second, sched.Second)
		for range 100 {
			c.next()
		}
		c.submit("b", sched.Long, 100, sched.Second, sched.Second)
		at := len(c.started)
		for range 10 {
			c.next()
		}
		if n := count(c.started[at:], "b"); n < x.least || n > x.most {
			t.Errorf("half-life %v: b has %d of 10 tasks, want %d to %d", x.halfLife, n, x.least, x.most)
		}
		c.shares(500 * sched.Second)
		c.shares(0)
		for c.next() {
		}
	}
}

// A registering worker names the owner of its task, and not the priority; the
// distributor names both.
func TestOwnersAfterARestart(t *testing.T) {
	r := newRig(t, 0, general(1))
	r.step(sched.Addr{}, &sched.Message{
		Kind: sched.WorkerUp, Peer: worker(1), Node: "n", Serves: []string{""}, Job: sched.JobID{Lo: 1}, Attempt: 1, Distributor: distributor, Owner: "t/a", Seq: 5,
	})
	tasks := sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 1}, First: 1, Count: 3, Attempt: 1, Distributor: distributor, Owner: "t/a", Priority: 3}
	r.step(distributor, &tasks)
	other := tasks
	other.Job, other.Priority = sched.JobID{Lo: 2}, 2
	r.step(distributor, &other)
	var got []string
	for range 5 {
		got = append(got, r.ends(0)...)
	}
	want := []string{"0:1/2", "0:1/3", "0:2/1", "0:2/2", "0:2/3"}
	if !slices.Equal(got, want) {
		t.Errorf("launched %q, want %q", got, want)
	}
}

// Whatever owners, classes, priorities and shares there are: no owner runs more than its
// max, no worker is idle while a task may be launched (Valid), and everything ends.
func TestSharesHoldWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o *pigeon.Options
		switch rapid.IntRange(0, 2).Draw(t, "policy") {
		case 1:
			o = &pigeon.Options{Sorted: true, Tail: true}
		case 2:
			o = &pigeon.Options{Sorted: true, Tail: true, Canary: true}
		}
		workers := rapid.IntRange(1, 12).Draw(t, "workers")
		c := newCrowd(t, workers, o)
		owners := []string{"", "a", "b", "b/x", "b/y", "c/z/w"}
		limits := map[string]float64{}
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				c.submit(rapid.SampledFrom(owners).Draw(t, "owner"), sched.Class(rapid.IntRange(0, 1).Draw(t, "class")), rapid.Int32Range(1, 9).Draw(t, "count"),
					sched.Time(rapid.Int64Range(1, 30).Draw(t, "length"))*sched.Second, sched.Time(rapid.Int64Range(0, 30).Draw(t, "estimate"))*sched.Second)
			},
			"end": func(*rapid.T) { c.next() }, "end another": func(*rapid.T) { c.next() },
			"share": func(t *rapid.T) {
				var list []sched.Share
				limits = map[string]float64{}
				for _, owner := range []string{"a", "b", "b/x", "c/z"} {
					if !rapid.Bool().Draw(t, "named") {
						continue
					}
					s := sched.Share{Owner: owner, Weight: rapid.Float64Range(0.001, 100).Draw(t, "weight"), Min: rapid.Float64Range(0, 0.3).Draw(t, "min")}
					if rapid.Bool().Draw(t, "limited") {
						s.Max = rapid.Float64Range(0.3, 1).Draw(t, "max")
						if owner == "b" || owner == "b/x" {
							s.Min = 0
						}
						limits[owner] = s.Max
					}
					list = append(list, s)
				}
				c.shares(rapid.SampledFrom([]sched.Time{0, 20 * sched.Second}).Draw(t, "half-life"), list...)
				for owner, most := range limits { // running tasks may exceed a new max
					if c.running(owner) > max(1, int(most*float64(workers)+1e-9)) {
						delete(limits, owner)
					}
				}
			},
			"": func(t *rapid.T) {
				for owner, most := range limits {
					if got := c.running(owner); got > max(1, int(most*float64(workers)+1e-9)) {
						t.Fatalf("%s runs %d of %d workers, above its max %v", owner, got, workers, most)
					}
				}
			},
		})
		for c.next() {
		}
		for _, v := range c.master.Owners() {
			if v.Running[0]+v.Running[1]+v.Queued[0]+v.Queued[1] > 0 {
				t.Fatalf("at the end %+v", v)
			}
		}
	})
}

// Owners that have gone are forgotten, except a few.
func TestOwnersAreForgotten(t *testing.T) {
	c := newCrowd(t, 2, nil)
	c.checked = false
	heap := heapOf(func() any {
		for i := range 5000 {
			c.submit(fmt.Sprintf("team-%d/user-%d", i%50, i), sched.Short, 1, sched.Millisecond, sched.Millisecond)
			c.next()
			c.started = c.started[:0]
			clear(c.length)
			clear(c.class)
			clear(c.used)
		}
		return c
	})
	if heap > 600_000 { // most of it is the attempts that ended lately
		t.Errorf("5,000 owners that have gone take %.0f bytes", heap)
	}
	if n := len(c.master.Owners()); n != 1 {
		t.Errorf("%d owners are shown, want the whole alone", n)
	}
}
