package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
)

// Files, pipes and terminals without colours get none.
func TestNoTerminal(t *testing.T) {
	if s := cli.TerminalOf(&strings.Builder{}); s != (cli.Terminal{}) {
		t.Errorf("%+v", s)
	}
	if got := fmt.Sprint(cli.Terminal{}.Paint("x", cli.Red), cli.Terminal{Colours: true}.Paint("x", cli.Plain), cli.Printable("a\x00\nb\u202e")); got != "x x a??b?" && got != "xxa??b?" {
		t.Errorf("%q", got)
	}
}
