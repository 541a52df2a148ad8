package application

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// greedy registers an application that wants an executor for each of many waiting tasks, as Spark's
// dynamic allocation does; busy is whether it has tasks.
func (d *cluster) greedy(id, owner string, memory int64, slots int, busy bool) *application {
	d.t.Helper()
	r := api.Application{ID: id, Owner: owner, Incarnation: 7, Grants: true, Template: api.Template{Argv: []string{"x"}, Memory: memory, Slots: slots}}
	if err := d.register(&r, d.now); err != nil {
		d.t.Fatal(err)
	}
	d.apps[id].filesReady = true
	d.measured = true
	d.busy(d.apps[id], busy)
	d.round()
	return d.apps[id]
}

// busy has an application state whether it has tasks.
func (d *cluster) busy(a *application, busy bool) {
	w := &api.Wants{Application: a.ID, Incarnation: 7, Sequence: a.wants.Sequence + 1, Executors: 127}
	if busy {
		w.Levels = []api.Level{{Name: "stage", Total: 1000}}
	}
	d.want(a, w, func(*api.Level) (sched.Class, string) { return sched.Short, "default" }, d.now)
}

// pass lets time pass, in which the applications are heard from.
func (d *cluster) pass(t time.Duration) {
	for range int(t / (500 * time.Millisecond)) {
		d.now = d.now.Add(460 * time.Millisecond)
		for _, a := range d.apps {
			a.lastContact = d.now
		}
		d.tick(d.now)
		d.round()
	}
}

// measure has the nodes state the memory that is in use.
func (d *cluster) measure() {
	for _, h := range d.holds {
		h.Used = 0
		for i := range h.Applications {
			for _, x := range h.Applications[i].Executors {
				if x.State.State == api.ExecutorRunning {
					h.Used += d.apps[h.Applications[i].ID].Template.Memory
				}
			}
		}
	}
}

// holders counts the executors of each application, as "id executors".
func (d *cluster) holders() string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(d.apps)) {
		all, _ := d.apps[id].executors.count()
		list = append(list, fmt.Sprint(id, " ", all))
	}
	return strings.Join(list, ", ")
}

// More executors than can fill the slots of the nodes are of no use: one a node, unless their cores
// (slots of the template) say how many it takes. None of the others waits.
func TestExecutorsThatFillNoSlot(t *testing.T) {
	for slots, want := range map[int]string{0: "app 2", 1: "app 6", 2: "app 4", 3: "app 2"} {
		d := newCluster(t, "a", "b")
		for _, n := range d.nodes {
			n.slots = 3
		}
		a := d.greedy("app", "o", 1, slots, true)
		if got := d.holders(); got != want || strings.Contains(d.show(a), api.ExecutorWaiting) {
			t.Errorf("wanting 127 executors of %d slots on two nodes of 3: %s (%s), want %s", slots, got, d.show(a), want)
		}
	}
}

// An application that waits for memory receives that of one that runs nothing within seconds, which
// takes none back before it has work again.
func TestIdleExecutorsAreGivenBack(t *testing.T) {
	d := newCluster(t, "a", "b")
	first := d.greedy("first", "o", 700, 0, false)
	d.greedy("second", "o", 700, 0, true)
	d.pass(reclaimIdle / 2)
	if got := d.holders(); got != "first 2, second 0" {
		t.Errorf("at once: %s", got)
	}
	d.pass(10 * time.Second)
	if got := d.holders(); got != "first 0, second 2" {
		t.Errorf("seconds later: %s", got)
	}
	if notes := fmt.Sprint(first.updates.notes); !strings.Contains(notes, `application "second" of owner "o" waits for its memory`) {
		t.Errorf("the first is told %s", notes)
	}
	d.busy(d.apps["second"], false)
	d.busy(first, true)
	d.pass(10 * time.Second)
	if got := d.holders(); got != "first 2, second 0" {
		t.Errorf("when the first has work and the second has none: %s", got)
	}
}

// Memory is shared by owner: one that came late receives its part of the nodes although all are busy, and
// neither takes from the other again. A second application of an owner takes nothing of the other owner's.
func TestMemoryIsSharedByOwner(t *testing.T) {
	d := newCluster(t, "a", "b", "c", "d")
	d.greedy("rich", "r", 700, 0, true)
	d.greedy("poor", "p", 700, 0, true)
	d.pass(reclaimBusy / 2)
	if got := d.holders(); got != "poor 0, rich 4" {
		t.Errorf("at once: %s", got)
	}
	for range 3 {
		d.pass(time.Minute)
		if got := d.holders(); got != "poor 2, rich 2" {
			t.Errorf("after a while: %s", got)
		}
	}
	d.greedy("third", "r", 700, 0, true)
	d.pass(time.Minute)
	if got := d.holders(); got != "poor 2, rich 2, third 0" {
		t.Errorf("with a third of the first owner: %s", got)
	}
}
