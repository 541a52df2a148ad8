package wire

import (
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/gen/peer"
)

// MaxDepartures bounds the departures in a hello, and those in its answer.
const MaxDepartures = 250

// Departure is a [protocol.Departure] with ages in place of instants: clocks of daemons are
// not compared.
type Departure struct {
	Daemon  Ref
	Address string
	Version string
	State   string // "" when it is not shown any more
	Reason  string
	Age     time.Duration
	Changed time.Duration // ago
	Origin  int64
	Number  int64
}

// At returns the departure with instants, by the clock of the receiver.
func (d *Departure) At(now sched.Time) protocol.Departure {
	return protocol.Departure{
		Role: d.Daemon.Role, Name: d.Daemon.Name, Address: d.Address, Version: d.Version, State: d.State, Reason: d.Reason,
		Since: now - sched.Time(d.Age), Changed: now - sched.Time(d.Changed), Origin: d.Origin, Number: d.Number,
	}
}

// DeparturesAt returns departures with their ages, by the clock of the sender.
func DeparturesAt(list []protocol.Departure, now sched.Time) []Departure {
	return mapped(list, func(x protocol.Departure) Departure {
		return Departure{
			Daemon: Ref{Role: x.Role, Name: x.Name}, Address: x.Address, Version: x.Version, State: x.State, Reason: strings.ToValidUTF8(x.Reason[:min(len(x.Reason), maxStated)], ""),
			Age: time.Duration(now - x.Since), Changed: time.Duration(now - x.Changed), Origin: x.Origin, Number: x.Number,
		}
	})
}

// readable returns the departures of a list without what is beyond the bound and what cannot be read: a
// daemon must be able to register whatever is said of others.
func readable(list []*peer.TDeparture) []*peer.TDeparture {
	return slices.DeleteFunc(list[:min(len(list), MaxDepartures)], func(t *peer.TDeparture) bool {
		return refFrom(t.Daemon).Name == "" || t.AgeNanos < 0 || t.ChangedNanos < 0 ||
			max(len(t.Daemon.Name), len(t.Address), len(t.Version), len(t.State), len(t.Reason)) > maxStated
	})
}
