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
	Name    string
	Address string // where it served
	Version string // of its binary
	State   string // one of the states of package api
	Reason  string // why
	Since   sched.Time
	// Until is when a departure is forgotten that is not recorded again, 0 for the time that
	// holds for all.
	Until sched.Time
}

// Departures are the daemons of one role that have left, by name and address: of two
// processes of one name one may be registered while the other one is refused. They are for
// display only; nothing is decided by them.
type Departures struct {
	most int
	list map[departed]Departure
}

type departed struct{ name, address string }

// NewDepartures returns an empty list of at most that many departures. When there are
// more, the oldest one is forgotten.
func NewDepartures(most int) *Departures {
	return &Departures{most: most, list: map[departed]Departure{}}
}

// Record records a departure. If one is recorded already with the same state, only its
// reason, its version and its end change. A refusal, which has an end, does not shorten the
// time for which an earlier departure without one is shown.
func (d *Departures) Record(x Departure) {
	key := departed{x.Name, x.Address}
	if old, known := d.list[key]; known {
		if old.State == x.State {
			x.Since = old.Since
		}
		if old.Until == 0 {
			x.Until = 0
		}
	} else if len(d.list) >= d.most {
		delete(d.list, d.oldest())
	}
	d.list[key] = x
}

// oldest returns the departure that was longest ago; of several the first by name and address.
func (d *Departures) oldest() departed {
	return slices.MinFunc(slices.Collect(maps.Keys(d.list)), func(a, b departed) int {
		return cmp.Or(cmp.Compare(d.list[a].Since, d.list[b].Since), compareDeparted(a, b))
	})
}

func compareDeparted(a, b departed) int {
	return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.address, b.address))
}

// Forget forgets the departures of a name, which has returned or is not to be shown any
// more. It reports whether there was one.
func (d *Departures) Forget(name string) bool {
	before := len(d.list)
	maps.DeleteFunc(d.list, func(key departed, _ Departure) bool { return key.name == name })
	return len(d.list) < before
}

// Has reports whether a departure of the name is recorded.
func (d *Departures) Has(name string) bool {
	for key := range d.list {
		if key.name == name {
			return true
		}
	}
	return false
}

// Expire forgets the departures of at least that long ago, and those whose end has come.
func (d *Departures) Expire(after, now sched.Time) {
	maps.DeleteFunc(d.list, func(_ departed, x Departure) bool {
		return now-x.Since >= after || x.Until > 0 && now >= x.Until
	})
}

// All lists the departures in the order of names and addresses.
func (d *Departures) All() []Departure {
	list := make([]Departure, 0, len(d.list))
	for _, key := range slices.SortedFunc(maps.Keys(d.list), compareDeparted) {
		list = append(list, d.list[key])
	}
	return list
}
