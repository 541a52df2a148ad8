package connect

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

var update = flag.Bool("update", false, "write docs/limits.md")

// TestLimitsPage: docs/limits.md has the limits of all daemons by size, and each size is one that the
// daemon accepts.
func TestLimitsPage(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Limits\n\nWritten by `make configs` from the settings; do not edit it.\n\n" +
		"`limits: small`, `medium` or `large` sets what a daemon holds at most: small is one machine or a few with little memory, large thousands of slots.\n" +
		"A limit that is set by its own name keeps that value; `pigeon config show ROLE` tells where each comes from.\n")
	for _, role := range []struct {
		name string
		rows func() ([][]string, error)
		load func(config.Source) error
	}{
		{"frontend", func() ([][]string, error) { return config.LimitsTable(frontend.Default()) }, loads(frontend.Default())},
		{"master", func() ([][]string, error) { return config.LimitsTable(master.Default()) }, loads(master.Default())},
		{"nodemonitor", func() ([][]string, error) { return config.LimitsTable(nodemonitor.Default()) }, loads(nodemonitor.Default())},
	} {
		rows, err := role.rows()
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d limits, %v", role.name, len(rows), err)
		}
		fmt.Fprintf(&page, "\n## %s\n\n| setting | small | medium | large |\n| --- | ---: | ---: | ---: |\n", role.name)
		for _, row := range rows {
			fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", row[0], row[1], row[2], row[3])
		}
		for _, size := range config.Sizes() {
			if err := role.load(config.Source{Environ: []string{"PIGEON_LIMITS=" + size}}); err != nil {
				t.Errorf("limits: %s of a %s: %v", size, role.name, err)
			}
		}
	}
	const path = "../../../docs/limits.md"
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != page.String() {
		t.Errorf("docs/limits.md is not what the settings have (%v); run 'make configs'", err)
	}
}

func loads[T any](defaults T) func(config.Source) error {
	return func(src config.Source) error { _, _, err := config.Load(defaults, src); return err }
}
