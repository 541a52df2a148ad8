package shares_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// group is a tree of owners whose tasks wait and run, without queues.
type group struct {
	*shares.Tree
	t *testing.T
}

func newGroup(t *testing.T, workers int, list ...sched.Share) group {
	g := group{shares.New(unwatched{}), t}
	g.SetWorkers(workers)
	g.set(0, 0, list...)
	return g
}

func (g group) set(halfLife, now sched.Time, list ...sched.Share) {
	g.t.Helper()
	if !g.Set(list, halfLife, now) {
		g.t.Fatalf("the shares %v are refused", list)
	}
}

// launch launches a task of the owner, as it arrives, for that many seconds.
func (g group) launch(owner string, c sched.Class, seconds sched.Time) *shares.Node {
	n := g.Hold(owner)
	g.Launch(n, c, seconds*sched.Second, false)
	return n
}

// wait makes tasks of the owner wait, as a queue does.
func (g group) wait(owner string, c sched.Class, tasks int32) {
	leaf := g.Hold(owner)
	for n := leaf; n.Parent() != nil && n.Waiting(c) == 0; n = n.Parent() {
		g.Begin(n, c, math.Inf(1))
	}
	g.Wait(leaf, c, tasks)
}

// shown checks what is shown of each owner, in order.
func (g group) shown(name string, value func(*sched.OwnerView) string, want string) {
	g.t.Helper()
	if err := g.Valid(); err != nil {
		g.t.Error(err)
	}
	var got []string
	for _, v := range g.Owners() {
		if x := value(&v); v.Owner != "" && x != "" {
			got = append(got, v.Owner+" "+x)
		}
	}
	if list := strings.Join(got, ", "); list != want {
		g.t.Errorf("%s: %s; want %s", name, list, want)
	}
}

// lead is by how many seconds an owner is ahead, of short and of long tasks.
func lead(v *sched.OwnerView) string {
	return fmt.Sprintf("%g+%g", math.Round(v.Lead[sched.Short].Seconds()), math.Round(v.Lead[sched.Long].Seconds()))
}

func entitled(v *sched.OwnerView) string { return fmt.Sprintf("%.3g", v.Entitled) }

// docs/shares.md: "the slots to which the owner is entitled now, given the owners that want slots
// now": by weight, at most its max and what it wants, at least its min.
func TestEntitled(t *testing.T) {
	for _, c := range []struct {
		name   string
		shares []sched.Share
		wants  map[string]int32 // tasks that wait; one more runs
		want   string
	}{
		{"equal owners", nil, map[string]int32{"a": 20, "b": 20, "c": 20}, "a 4, b 4, c 4"},
		{"one wants less", nil, map[string]int32{"a": 20, "b": 1, "c": 20}, "a 5, b 2, c 5"},
		{"weights", []sched.Share{{Owner: "a", Weight: 4}}, map[string]int32{"a": 20, "b": 20, "c": 20}, "a 8, b 2, c 2"},
		{"a max, then a min", []sched.Share{{Owner: "a", Weight: 2}, {Owner: "b", Weight: 1, Max: 0.25}, {Owner: "c", Weight: 1, Min: 0.5}},
			map[string]int32{"a": 20, "b": 20, "c": 20}, "a 3, b 3, c 6"},
		{"a min that is not wanted", []sched.Share{{Owner: "a", Weight: 1}, {Owner: "b", Weight: 1, Min: 0.5}}, map[string]int32{"a": 20, "b": 0}, "a 11, b 1"},
		{"minima of all slots", []sched.Share{{Owner: "a", Weight: 1, Min: 0.5}, {Owner: "b", Weight: 1, Min: 0.5}}, map[string]int32{"a": 20, "b": 20, "c": 20}, "a 6, b 6, c 0"},
		{"a max of one slot", []sched.Share{{Owner: "a", Weight: 9, Max: 1. / 12}}, map[string]int32{"a": 20, "b": 20}, "a 1, b 11"},
		{"all get less than they may have", nil, map[string]int32{"a": 1, "b": 2}, "a 2, b 3"},
		{"a team, its own jobs and a member", []sched.Share{{Owner: "t", Weight: 2}}, map[string]int32{"a": 20, "t": 20, "t/m": 20}, "a 4, t 8, t/m 4"},
		{"shares of owners that want nothing", []sched.Share{{Owner: "a", Weight: 9}, {Owner: "x/y", Weight: 9}}, map[string]int32{"b": 20}, "a 0, b 12, x 0, x/y 0"},
	} {
		g := newGroup(t, 12, c.shares...)
		for _, owner := range slices.Backward(slices.Sorted(maps.Keys(c.wants))) { // members first
			g.launch(owner, sched.Short, 1)
			g.wait(owner, sched.Short, c.wants[owner]/2)
			g.wait(owner, sched.Long, c.wants[owner]-c.wants[owner]/2)
		}
		g.shown(c.name, entitled, c.want)
	}
}

// docs/shares.md, How to read `pigeon shares`: "the slot-seconds by which the owner is ahead of the owner of its level
// that is served next"; in slot-seconds of its own, whatever its weight.
func TestLead(t *testing.T) {
	g := newGroup(t, 12, sched.Share{Owner: "a", Weight: 2}, sched.Share{Owner: "c", Weight: 1, Max: 1. / 12})
	a := g.launch("a", sched.Short, 20) // its next task starts at 10
	b := g.launch("b", sched.Short, 6)
	c := g.launch("c", sched.Short, 2)
	g.launch("d", sched.Long, 5)
	g.shown("nobody waits", lead, "a 20+0, b 6+0, c 2+0, d 0+5")
	g.Wait(c, sched.Short, 1)
	g.shown("c waits, and is at its max", lead, "a 20+0, b 6+0, c 2+0, d 0+5")
	g.Wait(b, sched.Short, 1)
	g.shown("b is served next", lead, "a 8+0, b 0+0, c 0+0, d 0+5")
	g.Wait(a, sched.Short, 1)
	g.shown("b is before a", lead, "a 8+0, b 0+0, c 0+0, d 0+5")
	g.End(a, sched.Short, 20*sched.Second, 2*sched.Second, false)
	g.shown("a is served next", lead, "a 0+0, b 5+0, c 1+0, d 0+5")
	g.Wait(c, sched.Short, -1)
	g.End(c, sched.Short, 2*sched.Second, 2*sched.Second, false)
	g.shown("c wants nothing", lead, "a 0+0, b 5+0, c 0+0, d 0+5")
}

// docs/shares.md, Settings: "for the long class: after this time, half of an owner's use is
// forgotten". A change of the setting leaves the leads as they are, whichever way, and an owner that
// is new is not ahead.
func TestLeadWithHalfLife(t *testing.T) {
	const h = 100 * sched.Second
	g, now := newGroup(t, 12), sched.Time(0)
	g.End(g.launch("a", sched.Long, 1), sched.Long, sched.Second, 5000*sched.Second, false)
	before := g.launch("a", sched.Long, 1000) // from here on nobody is behind for the 5000 s
	g.Wait(before, sched.Long, 1)
	g.launch("b", sched.Long, 400)
	g.launch("b", sched.Short, 50)
	step := func(name string, after, halfLife sched.Time, want string) {
		t.Helper()
		now += after
		g.Renew(now)
		g.set(halfLife, now)
		g.shown(name, lead, want)
	}
	step("not remembered; a is served next", 0, 0, "a 0+0, b 50+0")
	step("remembered from now on", 0, h, "a 0+0, b 50+0")
	g.wait("c", sched.Long, 1)
	step("c waits", 0, h, "a 0+1000, b 50+400, c 0+0")
	step("half of it", h, h, "a 0+500, b 50+200, c 0+0")
	step("a sixteenth of a half-life later", h/16+1, h, "a 0+479, b 50+192, c 0+0")
	step("no longer remembered", 0, 0, "a 0+479, b 50+192, c 0+0")
	g.launch("d", sched.Long, 1)
	step("remembered again, by another half-life", 5*h, 2*h, "a 0+479, b 50+192, c 0+0, d 0+1")
	step("half of that", 2*h, 2*h, "a 0+239, b 50+96, c 0+0, d 0+1")
	g.End(before, sched.Long, 1000*sched.Second, 2000*sched.Second, false)
	g.shown("the end of a task counts in full", lead, "a 0+1239, b 50+96, c 0+0, d 0+1")
	step("three thousand half-lives later", 6000*h, 2*h, "a 0+0, b 50+0, c 0+0, d 0+0")
	g.launch("b", sched.Long, 70)
	g.shown("new use counts in full", lead, "a 0+0, b 50+70, c 0+0, d 0+0")
	step("and then half of it", 2*h, 2*h, "a 0+0, b 50+35, c 0+0, d 0+0")
}

// Owners that want nothing and have no share are not shown, and what was used below them counts
// for those above.
func TestUsed(t *testing.T) {
	g := newGroup(t, 12)
	g.End(g.launch("t/a", sched.Short, 1), sched.Short, sched.Second, 3*sched.Second, false)
	g.End(g.launch("t/b", sched.Short, 1), sched.Short, sched.Second, 4*sched.Second, false)
	g.wait("t/b", sched.Long, 1)
	used := func(v *sched.OwnerView) string { return fmt.Sprint(v.Used[sched.Short].Seconds()) }
	g.shown("used", used, "t 7, t/b 4")
	if root := g.Owners()[0]; root.Owner != "" || root.Share.Weight != 1 || used(&root) != "7" {
		t.Errorf("the first is %+v", root)
	}
}
