package main

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli/clitest"
)

// TestInputsAreNotOverwritten: a trace that a command reads is refused as a file that it
// writes, under any name.
func TestInputsAreNotOverwritten(t *testing.T) {
	clitest.InputsAreKept(t, pigeon, "sim --trace TRACE --history TRACE", "sim --trace TRACE --actions LINK")
}
