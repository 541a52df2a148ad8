package main

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli/clitest"
)

// TestInputsAreNotOverwritten: a trace or history that a command reads is refused as a file that it
// writes, under any name.
func TestInputsAreNotOverwritten(t *testing.T) {
	clitest.InputsAreKept(t, pigeonBench, "replay --trace TRACE --history LINK", "watch TRACE --out LINK")
}
