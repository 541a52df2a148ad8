package chaos

import (
	"slices"

	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/cluster"
)

// hosts gives every daemon a host of the network. Host 0 is this program's, which no fault
// cuts off: clients and observers are there.
type hosts struct {
	network *network.Network
	all     []victim
	beside  string // program of every second daemon of a role, "" for the same
}

func newHosts(f fleet) (*hosts, error) {
	all := f.daemons()
	n, err := network.New(1 + len(all))
	if err != nil {
		return nil, err
	}
	return &hosts{network: n, all: all}, nil
}

func (h *hosts) of(v victim) int { return 1 + slices.Index(h.all, v) }

// Host returns the address of a daemon's host.
func (h *hosts) Host(r cluster.Role, i int) string { return h.network.Address(h.of(victim{r, i})) }

// Command returns the command that runs another one there.
func (h *hosts) Command(r cluster.Role, i int, argv []string) []string {
	if h.beside != "" && i%2 == 1 {
		argv = append([]string{h.beside}, argv[1:]...)
	}
	return h.network.Command(h.of(victim{r, i}), argv)
}

// around is all packets between some daemons and all others.
func (h *hosts) around(side []victim) func(from, to int) bool {
	inside := map[int]bool{}
	for _, v := range side {
		inside[h.of(v)] = true
	}
	return func(from, to int) bool { return from != 0 && to != 0 && inside[from] != inside[to] }
}

// between is all packets between a daemon and another one, or all others, as far as they
// go in one of the directions.
func (h *hosts) between(v victim, peer *victim, back bool) func(from, to int) bool {
	at := h.of(v)
	other := 0
	if peer != nil {
		other = h.of(*peer)
	}
	is := func(x int) bool { return x != 0 && (other == 0 || x == other) }
	return func(from, to int) bool {
		return from == at && is(to) || back && to == at && is(from)
	}
}
