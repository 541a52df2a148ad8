package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/spf13/pflag"
)

type bounded struct {
	Limits string `mapstructure:"limits" common:"yes" doc:"size of the cluster"`
	Tasks  int    `mapstructure:"tasks" sizes:"10,1000" doc:"tasks at most"`
	Bytes  int64  `mapstructure:"bytes" sizes:"5,500" doc:"bytes at most"`
	Other  int    `mapstructure:"other" doc:"the same in every cluster"`
}

func (b bounded) Validate() error {
	if !config.IsSize(b.Limits) {
		return &config.FieldError{Key: "limits", Problem: "use small, medium or large"}
	}
	return nil
}

func boundedDefaults() bounded {
	return bounded{Limits: config.Medium, Tasks: 100, Bytes: 50, Other: 7}
}

// One word sets the defaults of all limits; a limit that is set by its own name keeps its value, and where
// each comes from is told.
func TestLimitsBySize(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("limits: large\nbytes: 42\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	if err := errors.Join(config.Flags(fs, boundedDefaults()), fs.Parse([]string{"--limits", "small"})); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		src  config.Source
		want bounded
		from string // of tasks
	}{
		"nothing is said":           {config.Source{}, bounded{"medium", 100, 50, 7}, "default"},
		"a file":                    {config.Source{File: file}, bounded{"large", 1000, 42, 7}, "limits large"},
		"the environment":           {config.Source{File: file, Environ: []string{"PIGEON_LIMITS=medium"}}, bounded{"medium", 100, 42, 7}, "default"},
		"a flag":                    {config.Source{File: file, Flags: fs}, bounded{"small", 10, 42, 7}, "limits small"},
		"a limit in an environment": {config.Source{File: file, Environ: []string{"PIGEON_TASKS=3"}}, bounded{"large", 3, 42, 7}, "environment PIGEON_TASKS"},
	} {
		got, origins, err := config.Load(boundedDefaults(), c.src)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
		if o, _ := origins.Get("tasks"); o.Place() != c.from {
			t.Errorf("%s: tasks is from %q, want %q", name, o.Place(), c.from)
		}
	}
	if err := os.WriteFile(file, []byte("limits: huge\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := config.Load(boundedDefaults(), config.Source{File: file}); err == nil || !strings.Contains(err.Error(), `"limits" with value "huge" (file `+file+":1)") || !strings.Contains(err.Error(), "use small, medium or large") {
		t.Errorf("a word that is no size: %v", err)
	}
}

// What is written of a large cluster says that it is large, and nothing of the limits that follow from that.
func TestLimitsAreWrittenByTheirSize(t *testing.T) {
	var out strings.Builder
	if _, err := config.WriteCommon(&out, "h", bounded{"large", 1000, 42, 7}, boundedDefaults()); err != nil || strings.Contains(out.String(), "tasks:") || !strings.Contains(out.String(), `limits: "large"`) || !strings.Contains(out.String(), "bytes at most (default 500)\nbytes: 42") {
		t.Errorf("%v\n%s", err, out.String())
	}
	rows, err := config.LimitsTable(boundedDefaults())
	if err != nil || len(rows) != 2 || strings.Join(rows[0], "|") != "tasks|10|100|1000" {
		t.Errorf("%q, %v", rows, err)
	}
}
