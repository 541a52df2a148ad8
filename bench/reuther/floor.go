package reuther

import (
	"context"
	"errors"
	"os/exec"

	"golang.org/x/sync/errgroup"
)

// floor is one goroutine for each slot, which starts one program after another: the
// least that starting programs costs.
type floor struct{ slots int }

func (*floor) Name() string { return "floor" }

func (*floor) Describe(context.Context) (Description, error) {
	return Description{About: "goroutines that start the programs (os/exec), without a queue"}, nil
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
