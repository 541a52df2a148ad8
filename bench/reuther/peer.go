package reuther

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Peer is what starts programs in slots.
type Peer interface {
	Name() string
	// Describe returns its version, and its configuration as far as it has one.
	Describe(ctx context.Context) (string, error)
	// Start makes it ready for programs in so many slots; Stop ends it and removes what it
	// left behind.
	Start(ctx context.Context, slots int) error
	Stop() error
	// Run runs the programs and returns when all have ended. A program that fails is an
	// error.
	Run(ctx context.Context, programs [][]string) error
}

// ErrAbsent means that a peer is not installed; its text says how to install it.
var ErrAbsent = errors.New("is not installed")

// Names of the peers that New knows, in the order of tables.
func Names() []string { return []string{"floor", "pigeon", "xargs", "parallel"} }

// New returns the peer of a name. An unknown name is an error; that a peer is absent is said
// by its Start (ErrAbsent).
func New(name string) (Peer, error) {
	switch name {
	case "floor":
		return &floor{}, nil
	case "pigeon":
		return &pigeon{}, nil
	case "xargs":
		return &command{name: "xargs", from: "findutils", arguments: func(slots, each int) []string {
			return []string{"-0", "-P", strconv.Itoa(slots), "-n", strconv.Itoa(each)}
		}}, nil
	case "parallel":
		return &command{name: "parallel", from: "parallel", arguments: func(slots, each int) []string {
			return []string{"--will-cite", "--plain", "-0", "-j", strconv.Itoa(slots), "-n", strconv.Itoa(each)}
		}}, nil
	}
	return nil, fmt.Errorf("there is no peer %q; there are %s", name, strings.Join(Names(), ", "))
}

// floor is as many goroutines as there are slots, each of which starts one program after
// another: the least that starting programs costs.
type floor struct{ slots int }

func (*floor) Name() string { return "floor" }

func (*floor) Describe(context.Context) (string, error) {
	return "goroutines that start the programs (os/exec), without a queue", nil
}

func (f *floor) Start(_ context.Context, slots int) error {
	f.slots = slots
	return nil
}

func (*floor) Stop() error { return nil }

func (f *floor) Run(ctx context.Context, programs [][]string) error {
	slots, running := errgroup.WithContext(ctx)
	slots.SetLimit(f.slots)
	for _, program := range programs {
		if running.Err() != nil {
			break
		}
		slots.Go(func() error { return exec.CommandContext(running, program[0], program[1:]...).Run() })
	}
	return errors.Join(slots.Wait(), context.Cause(ctx))
}

// command is a command that reads the arguments of programs from its standard input, each
// ended by a zero byte, and starts a program for a number of them. All programs of a set
// have the same beginning, and so many arguments, but the last.
type command struct {
	name, from string
	arguments  func(slots, each int) []string
	slots      int
	version    string // known once it is started
}

func (c *command) Name() string { return c.name }

func (c *command) Describe(context.Context) (string, error) {
	return c.version + ": " + strings.Join(append([]string{c.name}, c.arguments(c.slots, 1)...), " "), nil
}

// Start looks at the version too: other programs of these names take other options.
func (c *command) Start(ctx context.Context, slots int) error {
	out, err := exec.CommandContext(ctx, c.name, "--version").Output()
	if err != nil || !bytes.Contains(out, []byte("GNU")) {
		return fmt.Errorf("GNU %s %w: apt-get install %s", c.name, ErrAbsent, c.from)
	}
	c.version, _, _ = strings.Cut(string(out), "\n")
	c.slots = slots
	return nil
}

func (*command) Stop() error { return nil }

func (c *command) Run(ctx context.Context, programs [][]string) error {
	fixed, each := shared(programs)
	var input bytes.Buffer
	for _, program := range programs {
		for _, argument := range program[len(fixed):] {
			input.WriteString(argument)
			input.WriteByte(0)
		}
	}
	if each == 0 { // the same program without arguments: one that it ignores, for each
		input.WriteString(strings.Repeat("x\x00", len(programs)))
		each = 1
	}
	cmd := exec.CommandContext(ctx, c.name, append(c.arguments(c.slots, each), fixed...)...)
	cmd.Stdin = &input
	cmd.WaitDelay = 10 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w: %s", c.name, err, bytes.TrimSpace(out)), context.Cause(ctx))
	}
	return nil
}

// shared returns the beginning that all programs have, up to the durations, and how many
// arguments follow it in the first one.
func shared(programs [][]string) (fixed []string, each int) {
	first := programs[0]
	n := slices.Index(first, "sh") // of several tasks a launch: sh -c SCRIPT sh
	if n == 0 {
		n = 4
	} else {
		n = 1
	}
	return first[:n], len(first) - n
}
