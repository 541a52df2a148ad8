package sim

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var update = flag.Bool("update", false, "rewrite the golden traces in testdata/traces; read the difference before you commit it")

// tracedPolicies returns the policies that have golden traces, by the folder of the traces.
func tracedPolicies() map[string]sched.Policy {
	return map[string]sched.Policy{
		pigeon.Name: pigeon.Policy(), pigeon.NameSort: pigeon.SortPolicy(pigeon.DefaultOptions()), pigeon.NameX: pigeon.XPolicy(pigeon.XOptions()),
	}
}

// Each golden trace is a scenario of prose and commands, with the actions of every core.
func TestTraces(t *testing.T) {
	for folder, policy := range tracedPolicies() {
		files, err := filepath.Glob(filepath.Join("testdata/traces", folder, "*.txt"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no traces: %v", err)
		}
		for _, file := range files {
			t.Run(filepath.Join(folder, filepath.Base(file)), func(t *testing.T) { checkTrace(t, file, policy) })
		}
	}
}

func checkTrace(t *testing.T, file string, policy sched.Policy) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Policy: policy, Params: sched.Params{Cutoff: sched.Second}, Seed: 1}
	got, err := playScript(cfg, string(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(text) {
		t.Errorf("the trace has changed; go test -run Traces -update rewrites it. It is now\n%s", got)
	}
}
