package protocol_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func gone(name, address, state string, since sched.Time) protocol.Departure {
	return protocol.Departure{Role: sched.Worker, Name: name, Address: address, State: state, Reason: state + " at " + address, Since: since}
}

// A departure is shown with its first instant until it is forgotten, replaced by another
// state, or too long ago; a refused process of the same name is shown in addition, until it
// is not refused any more.
func TestDepartures(t *testing.T) {
	d := protocol.NewDepartures(1, 10)
	names := func() (list []string) {
		for _, x := range d.All(sched.Worker) {
			list = append(list, fmt.Sprintf("%s %s %s %d", x.Name, x.Address, x.State, x.Since/sched.Second))
		}
		return list
	}
	check := func(what string, want ...string) {
		t.Helper()
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	const second = sched.Second
	d.Record(gone("b", "h:1", "lost", 1*second), 0)
	d.Record(gone("a", "h:2", "stopped", 2*second), 0)
	check("two", "a h:2 stopped 2", "b h:1 lost 1")
	again := gone("b", "h:1", "lost", 3*second)
	again.Reason, again.Until = "refused", 60*second
	d.Record(again, 0)
	check("the same state", "a h:2 stopped 2", "b h:1 lost 1")
	if x := d.All(sched.Worker)[1]; x.Reason != "refused" || x.Until != 0 {
		t.Errorf("a refusal of a lost daemon is %+v", x)
	}
	d.Record(gone("a", "h:2", "lost", 4*second), 0)
	check("another state", "a h:2 lost 4", "b h:1 lost 1")
	refused := gone("c", "h:9", "lost", 5*second)
	refused.Until = 65 * second
	d.Record(refused, 0)
	refused.Since, refused.Until = 10*second, 70*second
	d.Record(refused, 0)
	d.Expire(3600*second, 69*second)
	check("refused a minute ago", "a h:2 lost 4", "b h:1 lost 1", "c h:9 lost 5")
	d.Expire(3600*second, 70*second)
	check("not refused any more", "a h:2 lost 4", "b h:1 lost 1")
	if d.Forget(sched.Worker, "c", 0) || !d.Forget(sched.Worker, "a", 0) {
		t.Error("c was forgotten, and a was not")
	}
	d.Expire(100*second, 101*second)
	check("so long ago")
}

// There are never more departures than the bound, and the newest of them are kept.
func TestDeparturesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 20).Draw(t, "most")
		n := rapid.IntRange(0, 100).Draw(t, "n")
		d := protocol.NewDepartures(1, most)
		for i := range n {
			d.Record(gone(fmt.Sprintf("n%03d", i), "h:1", "lost", sched.Time(i)), 0)
		}
		all := d.All(sched.Worker)
		if len(all) != min(n, most) {
			t.Fatalf("%d of %d departures are kept, the bound is %d", len(all), n, most)
		}
		for i, x := range all {
			if want := fmt.Sprintf("n%03d", n-len(all)+i); x.Name != want {
				t.Fatalf("number %d is %s, want %s", i, x.Name, want)
			}
		}
	})
}

// A change that others have heard of is not a change again, and refusals are for the daemon
// itself; a follower that asks for few changes at a time hears all of them.
func TestChangesOfDepartures(t *testing.T) {
	d := protocol.NewDepartures(1, 100)
	for i := range 10 {
		d.Record(gone(fmt.Sprint("n", i), "h:1", "lost", sched.Time(i)), sched.Time(i))
	}
	refused := gone("refused", "h:9", "lost", 5)
	refused.Until = 65 * sched.Second
	d.Record(refused, 5)
	d.Record(gone("n3", "h:1", "lost", 20), 20)
	d.Forget(sched.Worker, "n5", 21)
	var names []string
	last := int64(0)
	for last < d.Last() {
		list, upTo := d.Changes(last, 3)
		if len(list) > 3 || upTo <= last {
			t.Fatalf("%d changes after number %d, up to %d", len(list), last, upTo)
		}
		for _, x := range list {
			names = append(names, x.Name+" "+x.State)
		}
		last = upTo
	}
	want := []string{"n0 lost", "n1 lost", "n2 lost", "n3 lost", "n4 lost", "n6 lost", "n7 lost", "n8 lost", "n9 lost", "n5 "}
	if !slices.Equal(names, want) {
		t.Errorf("the changes are %q, want %q", names, want)
	}
	if list, upTo := d.Changes(last, 3); len(list) != 0 || upTo != last {
		t.Errorf("after the last change there are %v, up to %d", list, upTo)
	}
}

// The changes of one daemon hold in its order, whatever the messages that carry them take, and
// also when another daemon passes one of them on late.
func TestChangesThatArriveLate(t *testing.T) {
	d := protocol.NewDepartures(1, 10)
	late := func(by sched.Time) protocol.Departure {
		list, _ := d.Changes(0, 10)
		list[0].Changed += by
		return list[0]
	}
	d.Record(gone("n", "h:1", "stopped", 0), 0)
	departed := late(300 * sched.Millisecond)
	d.Forget(sched.Worker, "n", sched.Millisecond)
	ended := late(5 * sched.Millisecond)

	f := protocol.NewDepartures(2, 10)
	f.Merge(departed, false, 0)
	f.Merge(ended, false, 0)
	if f.Has(sched.Worker, "n") {
		t.Error("a departure that ended 1 ms later is shown, because it was heard of late")
	}
	f.Merge(departed, false, 0)
	d.Merge(departed, false, 0)
	if f.Has(sched.Worker, "n") || d.Has(sched.Worker, "n") {
		t.Error("a departure that has ended is shown again, because another daemon passed it on")
	}
}

// cluster is a master that is started again and again, with frontends that copy its record.
type cluster struct {
	now       sched.Time
	master    *protocol.Departures
	life      int // of the master
	copies    []*protocol.Departures
	heard     []int64 // by copy, of the master of the life in of
	of        []int
	up        map[string]bool
	departed  map[string]string // state by name, what users are to see
	departure map[string]sched.Time
}

// longestCall bounds the time that a hello and its answer take.
const longestCall = 500 * sched.Millisecond

// exchange is a hello of a frontend and the answer. A departure seems to be younger by the time
// that the message takes.
func (c *cluster) exchange(t *rapid.T, i int) {
	pass := func(x protocol.Departure) protocol.Departure {
		late := sched.Time(rapid.Int64Range(0, int64(longestCall)).Draw(t, "late"))
		x.Since, x.Changed = x.Since+late, x.Changed+late
		return x
	}
	if c.of[i] != c.life {
		all, _ := c.copies[i].Changes(0, 1000)
		for _, x := range all {
			c.master.Merge(pass(x), c.up[x.Name], c.now)
		}
		c.of[i], c.heard[i] = c.life, 0
	}
	changes, last := c.master.Changes(c.heard[i], 1000)
	for _, x := range changes {
		c.copies[i].Merge(pass(x), false, c.now)
	}
	c.heard[i] = last
}

// However often the master is started again, as long as one frontend has heard of the last
// changes the master shows what departed, once all frontends have registered with it, and
// nothing that returned or was forgotten.
func TestDeparturesOutliveMasters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const frontends = 3
		c := &cluster{
			life: 1, master: protocol.NewDepartures(1, 100), heard: make([]int64, frontends), of: make([]int, frontends),
			up: map[string]bool{}, departed: map[string]string{}, departure: map[string]sched.Time{},
		}
		for i := range frontends {
			c.copies = append(c.copies, protocol.NewDepartures(int64(-1-i), 100))
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			c.now += rapid.SampledFrom([]sched.Time{0, sched.Millisecond, 10 * sched.Second}).Draw(t, "pause")
			name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
			switch rapid.SampledFrom([]string{"leave", "register", "forget", "restart", "hello"}).Draw(t, "step") {
			case "leave":
				if c.up[name] {
					state := rapid.SampledFrom([]string{"lost", "stopped"}).Draw(t, "state")
					delete(c.up, name)
					c.departed[name], c.departure[name] = state, c.now
					c.master.Record(gone(name, "h:1", state, c.now), c.now)
				}
			case "register":
				c.up[name] = true
				delete(c.departed, name)
				c.master.Forget(sched.Worker, name, c.now)
			case "forget":
				if c.master.Forget(sched.Worker, name, c.now) {
					delete(c.departed, name)
				}
			case "restart":
				c.exchange(t, rapid.IntRange(0, frontends-1).Draw(t, "frontend"))
				c.life++
				c.master = protocol.NewDepartures(int64(c.life), 100)
				c.now += 5 * sched.Second // longer than what the calls have made the changes seem younger
			case "hello":
				c.exchange(t, rapid.IntRange(0, frontends-1).Draw(t, "frontend"))
			}
		}
		for range 2 {
			for i := range frontends {
				c.exchange(t, i)
			}
		}
		for what, list := range map[string]*protocol.Departures{"the master": c.master, "a frontend": c.copies[0]} {
			shown := map[string]string{}
			for _, x := range list.All(sched.Worker) {
				shown[x.Name] = x.State
				// Departures with the same state, of two seconds and two masters, are one.
				if d := x.Since - c.departure[x.Name]; d < -2*sched.Second || d > 100*sched.Second {
					t.Errorf("%s shows %s as departed %v late", what, x.Name, time.Duration(d))
				}
			}
			if !maps.Equal(shown, c.departed) {
				t.Errorf("%s shows %v, want %v", what, shown, c.departed)
			}
		}
	})
}
