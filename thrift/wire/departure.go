package wire

import (
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

func departureTo(d Departure) *peer.TDeparture {
	return &peer.TDeparture{
		Daemon: refTo(d.Daemon), Address: d.Address, Version: d.Version, State: d.State, Reason: d.Reason,
		AgeNanos: int64(d.Age), ChangedNanos: int64(d.Changed), Origin: d.Origin, Number: d.Number,
	}
}

// departuresFrom reads a list of departures. It leaves out what is beyond the bound and what
// cannot be read: a daemon must be able to register whatever is said of others.
func departuresFrom(list []*peer.TDeparture) (out []Departure) {
	for _, t := range list[:min(len(list), MaxDepartures)] {
		if d, ok := departureFrom(t); ok {
			out = append(out, d)
		}
	}
	return out
}

func departureFrom(t *peer.TDeparture) (Departure, bool) {
	daemon, err := refFrom(t.Daemon)
	switch {
	case err != nil, daemon.Name == "", t.AgeNanos < 0 || t.ChangedNanos < 0:
		return Departure{}, false
	case max(len(daemon.Name), len(t.Address), len(t.Version), len(t.State), len(t.Reason)) > maxStated:
		return Departure{}, false
	}
	return Departure{
		Daemon: daemon, Address: t.Address, Version: t.Version, State: t.State, Reason: t.Reason,
		Age: time.Duration(t.AgeNanos), Changed: time.Duration(t.ChangedNanos), Origin: t.Origin, Number: t.Number,
	}, true
}
