package pigeon_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/coretest"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var update = flag.Bool("update", false, "rewrite the golden traces in testdata/traces; read the difference before you commit it")

// Whole scenarios, each a file of prose, commands, and what every core did.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/traces/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cfg := coretest.Config{Policy: pigeon.Policy(), Params: sched.Params{Cutoff: sched.Second}, Seed: 1, AtRest: atRest}
			got, err := coretest.Script(cfg, string(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("the trace has changed; go test -run Traces -update rewrites it. Now it is\n%s", got)
			}
		})
	}
}
