package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sparkhome"
	"github.com/pigeon-sched/pigeon/internal/sparkhome/sparkhometest"
)

// TestRealSparkReplay: drivers of a real Spark run every job of a trace, short ones
// and long ones, on a cluster of this program's own.
func TestRealSparkReplay(t *testing.T) {
	home := sparkhometest.Real(t)
	t.Setenv("SPARK_HOME", home.Dir)
	if os.Getenv(sparkhome.JarVariable) == "" {
		name, err := sparkhome.JarName(home)
		if err != nil {
			t.Skip(err)
		}
		jar, err := filepath.Abs(filepath.Join("..", "..", "..", "sparkplugin", "dist", name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(jar); err != nil {
			t.Skipf("%v; 'make spark' builds it", err)
		}
		t.Setenv(sparkhome.JarVariable, jar)
	}
	trace := filepath.Join(t.TempDir(), "ten.tr")
	jobs := strings.Repeat("0.5 3 0.1 0.1 0.1 0.1\n", 8) + "0.6 4 2 2 2 2 2\n1 1 0.1 0.1\n"
	if err := os.WriteFile(trace, []byte(jobs), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := pigeonBench(t, "replay", "--via", "spark", "--drivers", "2", "--trace", trace, "--workers", "4", "--groups", "2", "--reserved", "0.25", "-o", "json")
	var r struct {
		Completed, Attempts int
		Long                struct{ Jobs int }
		Short               struct {
			Jobs     int
			Queueing struct{ P50 *float64 }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &r); code != cli.ExitDone || err != nil {
		t.Fatalf("status %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if r.Completed != 10 || r.Attempts < 29 || r.Long.Jobs != 1 || r.Short.Jobs != 9 || r.Short.Queueing.P50 == nil {
		t.Errorf("%+v\n%s", r, stdout)
	}
}
