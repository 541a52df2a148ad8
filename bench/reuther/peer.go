package reuther

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Peer is what starts programs in slots.
type Peer interface {
	Name() string
	// Describe returns what it is, once it is started.
	Describe(ctx context.Context) (Description, error)
	// Start makes it ready for programs in that many slots. Stop ends it and removes what
	// it left behind, also after a Start or a Run that failed or was interrupted.
	Start(ctx context.Context, slots int) error
	Stop() error
	// Run runs the programs and returns when the peer knows that all have ended. A program
	// that fails is an error.
	Run(ctx context.Context, programs [][]string) error
}

// Description is what a reader has to know of a peer to measure it again.
type Description struct {
	About string // version and how it is used, one line
	// Configuration is what was written for this measurement; "" for a peer that takes
	// all from its command line.
	Configuration string
}

// ErrAbsent means that a peer is not installed; its text says how to install it.
var ErrAbsent = errors.New("is not installed")

// Options of peers.
type Options struct {
	// Peers is the program of bench/peers, which has the peers that are Go modules.
	Peers string
}

// constructors of the peers, in the order of tables.
var constructors = []struct {
	name string
	make func(Options) Peer
}{
	{"floor", func(Options) Peer { return &floor{} }},
	{"pigeon", func(Options) Peer { return newPigeon() }},
	{"pigeon-dev", func(Options) Peer { return newPigeonDev() }},
	{"xargs", func(Options) Peer {
		return &command{name: "xargs", from: "findutils", arguments: func(slots int) []string {
			return []string{"-0", "-P", strconv.Itoa(slots), "-n", "1"}
		}}
	}},
	{"parallel", func(Options) Peer {
		return &command{name: "parallel", from: "parallel", arguments: func(slots int) []string {
			return []string{"--will-cite", "--plain", "--quote", "-0", "-j", strconv.Itoa(slots), "-n", "1"}
		}}
	}},
	{"asynq", func(o Options) Peer { return &queue{name: "asynq", program: o.Peers, database: redis} }},
	{"river", func(o Options) Peer { return &queue{name: "river", program: o.Peers, database: postgres} }},
}

// Names of the peers that New knows, in the order of tables.
func Names() []string {
	var names []string
	for _, c := range constructors {
		names = append(names, c.name)
	}
	return names
}

// New returns the peer of a name. An unknown name is an error; Start of an absent peer
// returns ErrAbsent.
func New(name string, o Options) (Peer, error) {
	for _, c := range constructors {
		if c.name == name {
			return c.make(o), nil
		}
	}
	return nil, fmt.Errorf("there is no peer %q; there are %s", name, strings.Join(Names(), ", "))
}
