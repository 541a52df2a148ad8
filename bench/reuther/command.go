package reuther

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// command is a command that reads the arguments of programs from its standard input, each
// ended by a zero byte, and starts a program for a number of them. All programs of a set
// have the same beginning, and all but the last the same number of arguments.
type command struct {
	name, from string
	arguments  func(slots, each int) []string
	slots      int
	version    string // known once it is started
}

func (c *command) Name() string { return c.name }

func (c *command) Describe(context.Context) (Description, error) {
	return Description{About: c.version + ": " + strings.Join(append([]string{c.name}, c.arguments(c.slots, 1)...), " ")}, nil
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
