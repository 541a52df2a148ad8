package reuther

import (
	"context"
	"fmt"
)

// nomad may be asked for and is always absent: Debian 12 has no package of it; the other
// peers are Debian's packages.
type nomad struct{}

func (nomad) Name() string { return "nomad" }

func (nomad) Describe(context.Context) (Description, error) { return Description{}, nil }

func (nomad) Start(context.Context, int) error {
	return fmt.Errorf("Nomad %w and cannot be measured: Debian 12 has no package of it", ErrAbsent) //nolint:staticcheck // a name
}

func (nomad) Stop() error { return nil }

func (nomad) Run(context.Context, [][]string) error { return nil }
