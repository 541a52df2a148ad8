package reuther

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// taskSpooler is a separate server of task-spooler, with its socket in a place. Each program
// is submitted by a process of tsp, as by its users, without keeping output.
type taskSpooler struct {
	place   *place
	version string
}

// spooled is how many ended jobs the server keeps for the list in which failures are
// looked up; the list is cleared before a set. Its clients are processes that wait, and it
// takes 1,000 of them at a time; further submissions wait for a place.
const spooled = 1_000_000

func (*taskSpooler) Name() string { return "task-spooler" }

func (t *taskSpooler) Describe(context.Context) (Description, error) {
	return Description{About: t.version + ": tsp -n PROGRAM for each, tsp -S for the slots; a set has ended when tsp's list has only finished jobs"}, nil
}

func (t *taskSpooler) Start(ctx context.Context, slots int) error {
	if err := installed("task-spooler", "task-spooler", "tsp"); err != nil {
		return err
	}
	var err error
	if t.place, err = newPlace("TS_SOCKET=@/socket", "TMPDIR=@", "TS_MAXFINISHED="+strconv.Itoa(spooled)); err != nil {
		return err
	}
	if t.version, err = t.place.command(ctx, "tsp", "-V"); err != nil {
		return err
	}
	t.version, _, _ = strings.Cut(t.version, " - ")
	_, err = t.place.command(ctx, "tsp", "-S", strconv.Itoa(slots)) // this starts the server
	return err
}

func (t *taskSpooler) Stop() error { return t.place.close() } // the sweep finds the server

func (t *taskSpooler) Run(ctx context.Context, programs [][]string) error {
	if _, err := t.place.command(ctx, "tsp", "-C"); err != nil {
		return err
	}
	for _, program := range programs {
		if _, err := t.place.command(ctx, append([]string{"tsp", "-n"}, program...)...); err != nil {
			return err
		}
	}
	for tick := time.NewTicker(5 * recordsEvery); ; {
		list, err := t.place.command(ctx, "tsp", "-l")
		if err != nil {
			tick.Stop()
			return err
		}
		if done, failed := spoolerState(list); done {
			tick.Stop()
			return failed
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return context.Cause(ctx)
		}
	}
}

// spoolerState reads tsp's list: a head, then lines of id, state, output, and for finished jobs
// the exit status.
func spoolerState(list string) (done bool, failed error) {
	done = true
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2 || f[0] == "ID":
		case f[1] != "finished":
			return false, nil
		case len(f) > 3 && f[3] != "0" && failed == nil:
			failed = fmt.Errorf("a task failed: %s", strings.TrimSpace(line))
		}
	}
	return done, failed
}
