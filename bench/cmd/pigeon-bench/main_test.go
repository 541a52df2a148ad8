package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/sparkplugin/sparktest"
)

// TestMain makes this test the program when it is started with a verb: as the guard of exec tasks, or
// in a network namespace. Daemons that are processes are of a pigeon of this checkout.
func TestMain(m *testing.M) {
	guard.Register()
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
	}
	for _, name := range []string{"PIGEON_FRONTEND", "PIGEON_TOKEN_FILE", "PIGEON_TLS_CA"} {
		_ = os.Unsetenv(name) // no test uses the cluster of the user who runs it
	}
	program, err := sparktest.Program(context.Background())
	if err == nil {
		err = os.Setenv(product.Variable, program)
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, natsservertest.LeftBehind())
}

// pigeonBench runs the program.
func pigeonBench(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// succeed runs the program, which must succeed, and returns what it printed.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := pigeonBench(t, args...)
	if code != cli.ExitDone {
		t.Fatalf("pigeon-bench %s: status %d: %s", strings.Join(args, " "), code, stderr)
	}
	return strings.TrimSpace(stdout)
}

// lines reads JSON Lines.
func lines[T any](t *testing.T, text string) (list []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var one T
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, one)
	}
	return list
}
