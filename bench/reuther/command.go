package reuther

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// command is a command that reads the arguments of programs from its standard input, each
// ended by a zero byte, and starts a program for each of them. All programs of a set have the same
// name, and none or one argument.
type command struct {
	name, from string
	arguments  func(slots int) []string
	slots      int
	version    string // known once it is started
}

func (c *command) Name() string { return c.name }

func (c *command) Describe(context.Context) (Description, error) {
	return Description{About: c.version + ": " + strings.Join(append([]string{c.name}, c.arguments(c.slots)...), " ")}, nil
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
	var input bytes.Buffer
	for _, program := range programs {
		argument := "x" // the program ignores it
		if len(program) > 1 {
			argument = program[1]
		}
		input.WriteString(argument + "\x00")
	}
	cmd := exec.CommandContext(ctx, c.name, append(c.arguments(c.slots), programs[0][0])...)
	cmd.Stdin = &input
	cmd.WaitDelay = 10 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w: %s", c.name, err, bytes.TrimSpace(out)), context.Cause(ctx))
	}
	return nil
}
