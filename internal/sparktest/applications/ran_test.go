package applications

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pigeon-sched/pigeon/internal/sparktest"
)

// run is one application or feature that ran to its end, well or not.
type run struct {
	Line    string `json:"line"`    // "4.1"
	Version string `json:"version"` // "4.1.4"
	Name    string `json:"name"`
	What    string `json:"what"`
	Mode    string `json:"mode"`
	Feature bool   `json:"feature"`
	Passed  bool   `json:"passed"`
}

// ranFolder is where runs are noted.
func ranFolder() string { return filepath.Join(sparktest.Root(), "out", "sparktest", "ran") }

// note has the outcome of a test written down at its end. A skipped one did not run.
func note(t *testing.T, r run) {
	t.Helper()
	t.Cleanup(func() {
		if t.Skipped() {
			return
		}
		r.Passed = !t.Failed()
		text, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			err = os.MkdirAll(ranFolder(), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(ranFolder(), strings.Join([]string{r.Line, r.Name, r.Mode}, "-")+".json"), text, 0o644)
		}
		if err != nil {
			t.Errorf("what ran could not be noted: %v", err)
		}
	})
}

// runs are all that were noted.
func runs() (list []run, err error) {
	files, err := filepath.Glob(filepath.Join(ranFolder(), "*.json"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("nothing ran yet: %s is empty", ranFolder()))
	}
	for _, file := range files {
		var r run
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// writeTable writes what ran as the page for users.
func writeTable(file string) error {
	list, err := runs()
	if err != nil {
		return err
	}
	return os.WriteFile(file, page(list), 0o644)
}

func page(list []run) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, "# What ran on which Spark\n\n"+
		"Written by `make test-spark-lines` from what ran; not edited. Real daemons, two nodes of two slots; each application is the same file on every line and in both modes, and its answers are those of the same Spark with master `local[2]`. The programs are in `internal/sparktest/applications/testdata`.\n")
	for _, part := range []struct {
		title   string
		feature bool
	}{{"Applications", false}, {"Features of Spark", true}} {
		rows := slices.DeleteFunc(slices.Clone(list), func(r run) bool { return r.Feature != part.feature })
		if len(rows) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n", part.title)
			grid(&b, rows)
		}
	}
	return b.Bytes()
}

// grid has a row for each name and a column for each version.
func grid(b *bytes.Buffer, list []run) {
	versions := sorted(list, func(r run) string { return r.Version })
	fmt.Fprintf(b, "| | | %s |\n| --- | --- |%s\n", strings.Join(versions, " | "), strings.Repeat(" --- |", len(versions)))
	for _, name := range names(list) {
		cells := make([]string, len(versions))
		var what string
		for i, version := range versions {
			var said []string
			for _, r := range list {
				if r.Name != name || r.Version != version {
					continue
				}
				what = r.What
				if said = append(said, r.Mode); !r.Passed {
					said[len(said)-1] = "**" + r.Mode + ": failed**"
				}
			}
			slices.Sort(said)
			cells[i] = cmp.Or(strings.Join(slices.Backward2(said), ", "), "-")
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, what, strings.Join(cells, " | "))
	}
}
