package protocol

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Departure is a daemon that is not registered with a master, as it is shown to users.
type Departure struct {
	Role    sched.Role // Worker for a node monitor, Distributor for a frontend
	Name    string
	Address string // where it served
	Version string // of its binary
	State   string // one of the states of package api; "" in a copy: it is not shown any more
	Reason  string // why
	Since   sched.Time
	// Until is when a departure is forgotten that is not recorded again, 0 for the time that
	// holds for all.
	Until sched.Time
	// Changed is when the record was made, changed or ended; Origin is the incarnation of the
	// daemon that did so, and Number the number of the change there.
	Changed        sched.Time
	Origin, Number int64
}

// before reports whether the other change is the later one. Changes of one origin have an order.
// The times of others are compared; they are the same change if they are close together and
// say the same.
func (x *Departure) before(other *Departure) bool {
	if x.Origin == other.Origin && x.Origin != 0 { // 0: of a daemon that does not say
		return x.Number < other.Number
	}
	return other.Changed > x.Changed+sameChange || other.Changed > x.Changed && other.State != x.State
}

// Departures are the daemons that have left, by role, name and address: of two processes of
// one name one may be registered while the other one is refused. They are for display only;
// nothing is decided by them.
//
// A daemon follows the changes of another's by their numbers ([Departures.Changes]) and
// applies them to a copy ([Departures.Merge]). The end of a departure is a change too, so
// ended ones are kept for as long as the others, without being shown.
type Departures struct {
	origin int64 // of the changes that are made here
	most   int
	list   map[departed]*departure
	number int64 // of the last change
}

type departed struct {
	role          sched.Role
	name, address string
}

type departure struct {
	Departure
	number int64 // of the change that made it so here, for followers
}

func (x *departure) ended() bool { return x.State == "" }

// NewDepartures returns an empty list of the daemon with that incarnation, of at most that many
// departures of each role, and as many ended ones. When there are more, the oldest one is
// forgotten.
func NewDepartures(incarnation int64, most int) *Departures {
	return &Departures{origin: incarnation, most: most, list: map[departed]*departure{}}
}

// Record records a departure. If one is recorded already with the same state, only its
// reason, its version and its end change. A refusal, which has an end, does not shorten the
// time for which an earlier departure without one is shown.
func (d *Departures) Record(x Departure, now sched.Time) {
	x.Changed = now
	old := d.list[keyOf(&x)]
	if old != nil && !old.ended() {
		if old.State == x.State {
			x.Since = old.Since
		}
		if old.Until == 0 {
			x.Until = 0
		}
		if old.State == x.State && old.Reason == x.Reason && old.Version == x.Version && (old.Until == 0) == (x.Until == 0) {
			old.Until = x.Until // a repetition: nothing for others to learn
			return
		}
	}
	d.change(x)
}

// Forget ends the departures of a name, which has returned or is not to be shown any more.
// It reports whether there was one.
func (d *Departures) Forget(role sched.Role, name string, now sched.Time) (forgotten bool) {
	for key, x := range d.list {
		if key.role == role && key.name == name && !x.ended() {
			d.end(x.Departure, now)
			forgotten = true
		}
	}
	return forgotten
}

// end records that a departure is not shown any more.
func (d *Departures) end(x Departure, now sched.Time) {
	d.change(Departure{Role: x.Role, Name: x.Name, Address: x.Address, Since: now, Changed: now})
}

// change enters a change that is made here.
func (d *Departures) change(x Departure) {
	x.Origin, x.Number = d.origin, d.number+1
	d.set(x)
}

// sameChange is how far apart the times of one change may be that two daemons have seen for
// themselves.
const sameChange = 2 * sched.Second

// Merge applies a change that another daemon has recorded or passes on: of two changes the later
// one holds.
// For a daemon that is registered the departure ends, whatever the other one knows.
func (d *Departures) Merge(x Departure, registered bool, now sched.Time) {
	old := d.list[keyOf(&x)]
	switch {
	case registered:
		if x.State != "" && (old == nil || !old.ended() || old.before(&x)) {
			d.end(x, now) // a change that the other one applies in its turn
		}
	case old == nil, old.before(&x):
		d.set(x)
	}
}

// set enters a change. If there are now more departures of the role than there may be, or
// more ended ones, the oldest of them is forgotten.
func (d *Departures) set(x Departure) {
	d.number++
	d.list[keyOf(&x)] = &departure{Departure: x, number: d.number}
	var all []departed
	for key, o := range d.list {
		if key.role == x.Role && o.ended() == (x.State == "") {
			all = append(all, key)
		}
	}
	if len(all) > d.most {
		delete(d.list, slices.MinFunc(all, func(a, b departed) int {
			return cmp.Or(cmp.Compare(d.list[a].Since, d.list[b].Since), compareDeparted(a, b))
		}))
	}
}

func keyOf(x *Departure) departed { return departed{x.Role, x.Name, x.Address} }

func compareDeparted(a, b departed) int {
	return cmp.Or(cmp.Compare(a.role, b.role), strings.Compare(a.name, b.name), strings.Compare(a.address, b.address))
}

// Has reports whether a departure of the name is recorded.
func (d *Departures) Has(role sched.Role, name string) bool {
	for key, x := range d.list {
		if key.role == role && key.name == name && !x.ended() {
			return true
		}
	}
	return false
}

// Expire forgets the departures of at least that long ago, and those whose end has come.
func (d *Departures) Expire(after, now sched.Time) {
	maps.DeleteFunc(d.list, func(_ departed, x *departure) bool {
		return now-x.Since >= after || x.Until > 0 && now >= x.Until
	})
}

// All lists the departures of a role in the order of names and addresses.
func (d *Departures) All(role sched.Role) (list []Departure) {
	for _, key := range slices.SortedFunc(maps.Keys(d.list), compareDeparted) {
		if x := d.list[key]; key.role == role && !x.ended() {
			list = append(list, x.Departure)
		}
	}
	return list
}

// Last returns the number of the last change.
func (d *Departures) Last() int64 { return d.number }

// Changes returns at most that many of the changes after the one of a number, in their order,
// and the number of the last of them. Departures that end by themselves, as those of refused
// daemons do, are left out.
func (d *Departures) Changes(after int64, most int) (list []Departure, last int64) {
	if after >= d.number {
		return nil, d.number
	}
	var all []*departure
	for _, x := range d.list {
		if x.number > after && x.Until == 0 {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *departure) int { return cmp.Compare(a.number, b.number) })
	last = d.number
	if len(all) > most {
		all = all[:most]
		last = all[most-1].number
	}
	for _, x := range all {
		list = append(list, x.Departure)
	}
	return list, last
}
