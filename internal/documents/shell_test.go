package documents

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startShell(t *testing.T) *Shell {
	t.Helper()
	s, err := StartShell(t.TempDir(), append(os.Environ(), "NAME=value"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestShell(t *testing.T) {
	s := startShell(t)
	for _, c := range []struct {
		command, output string
		status          int
	}{
		{"echo $NAME", "value\n", 0},
		{"x=1; echo error >&2", "error\n", 0},
		{"echo $x; (exit 3)", "1\n", 3},
		{"printf 'no line break'", "no line break", 0},
		{"cat", "", 0}, // commands have no input
		{"sleep 600 &", "", 0},
		{"echo 'a\n\"b'", "a\n\"b\n", 0},
		{"echo 'unfinished", "", 2}, // harms no later command; the message of bash depends on its version
		{"kill %1 && echo killed", "killed\n", 0},
	} {
		output, status, err := s.Run(t.Context(), c.command)
		if err != nil || status != c.status || c.output != output && c.status != 2 {
			t.Errorf("%s: %q, status %d, %v; want %q, %d", c.command, output, status, err, c.output, c.status)
		}
	}
}

func TestShellHasLimits(t *testing.T) {
	if _, _, err := startShell(t).Run(t.Context(), "yes"); err == nil || !strings.Contains(err.Error(), "1048576 bytes") {
		t.Errorf("endless output: %v", err)
	}
	s := startShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Run(ctx, "sleep 600"); !errors.Is(err, context.Canceled) {
		t.Errorf("a command that does not end: %v", err)
	}
	if _, _, err := startShell(t).Run(t.Context(), "exit 4"); err == nil {
		t.Error("the end of the shell is no error")
	}
}
