package protocol_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func gone(name, address, state string, since sched.Time) protocol.Departure {
	return protocol.Departure{Name: name, Address: address, State: state, Reason: state + " at " + address, Since: since}
}

// A departure is shown with its first instant until it is forgotten, replaced by another
// state, or too long ago; a refused process of the same name is shown in addition, until it
// is not refused any more.
func TestDepartures(t *testing.T) {
	d := protocol.NewDepartures(10)
	names := func() (list []string) {
		for _, x := range d.All() {
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
	d.Record(gone("b", "h:1", "lost", 1*second))
	d.Record(gone("a", "h:2", "stopped", 2*second))
	check("two", "a h:2 stopped 2", "b h:1 lost 1")
	again := gone("b", "h:1", "lost", 3*second)
	again.Reason, again.Until = "refused", 60*second
	d.Record(again)
	check("the same state", "a h:2 stopped 2", "b h:1 lost 1")
	if x := d.All()[1]; x.Reason != "refused" || x.Until != 0 {
		t.Errorf("a refusal of a lost daemon is %+v", x)
	}
	d.Record(gone("a", "h:2", "lost", 4*second))
	check("another state", "a h:2 lost 4", "b h:1 lost 1")
	refused := gone("c", "h:9", "lost", 5*second)
	refused.Until = 65 * second
	d.Record(refused)
	refused.Since, refused.Until = 10*second, 70*second
	d.Record(refused)
	d.Expire(3600*second, 69*second)
	check("refused a minute ago", "a h:2 lost 4", "b h:1 lost 1", "c h:9 lost 5")
	d.Expire(3600*second, 70*second)
	check("not refused any more", "a h:2 lost 4", "b h:1 lost 1")
	if d.Forget("c") || !d.Forget("a") {
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
		d := protocol.NewDepartures(most)
		for i := range n {
			d.Record(gone(fmt.Sprintf("n%03d", i), "h:1", "lost", sched.Time(i)))
		}
		all := d.All()
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
