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

// in is the same in a mode.
func (r run) in(mode string) run {
	r.Mode = mode
	return r
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
		"Written by `make test-spark-lines` from what ran; not edited. Real daemons, two nodes of two slots; each application is the same file everywhere, and must give the same answers on every line and in both modes of the plugin; *local*: the same Spark gave them with master `local[2]`. The programs and their answers are in `internal/sparktest/applications/testdata`.\n")
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
	var versions, names []string
	cells := map[[2]string][]string{} // by name and version: the modes
	what := map[string]string{}
	slices.SortFunc(list, func(x, y run) int {
		return cmp.Or(cmp.Compare(position(x.Name), position(y.Name)), cmp.Compare(rank(x.Mode), rank(y.Mode)))
	})
	for _, r := range list {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
		if !slices.Contains(versions, r.Version) {
			versions = append(versions, r.Version)
		}
		mode := r.Mode
		if !r.Passed {
			mode = "**" + mode + ": failed**"
		}
		at := [2]string{r.Name, r.Version}
		cells[at], what[r.Name] = append(cells[at], mode), r.What
	}
	slices.Sort(versions)
	fmt.Fprintf(b, "| | | %s |\n| --- | --- |%s\n", strings.Join(versions, " | "), strings.Repeat(" --- |", len(versions)))
	for _, name := range names {
		fmt.Fprintf(b, "| %s | %s |", name, what[name])
		for _, version := range versions {
			fmt.Fprintf(b, " %s |", cmp.Or(strings.Join(cells[[2]string{name, version}], ", "), "-"))
		}
		fmt.Fprintln(b)
	}
}

// rank is the order of modes in a cell.
func rank(mode string) int { return slices.Index([]string{grants, coarse, local}, mode) }

// position of a name in the lists of this package, which is its place in the page.
func position(name string) int {
	if i := slices.IndexFunc(applications, func(a application) bool { return a.name == name }); i >= 0 {
		return i
	}
	return len(applications) + slices.IndexFunc(featureList(), func(f feature) bool { return f.name == name })
}

// TestPage: a row for each name in the order of the lists, a column for each version,
// failures not hidden, and what did not run left empty.
func TestPage(t *testing.T) {
	list := []run{
		{Version: "4.1.4", Name: "tpch", What: "queries", Mode: coarse},
		{Version: "3.5.9", Name: "rdd", What: "shuffles", Mode: grants, Passed: true},
		{Version: "4.1.4", Name: "tpch", What: "queries", Mode: grants, Passed: true},
		{Version: "4.1.4", Name: "barrier", What: "meets", Mode: coarse, Passed: true, Feature: true},
	}
	_, tables, found := strings.Cut(string(page(list)), "## Applications\n\n")
	holds(t, "there is a page", found)
	equal(t, `| | | 3.5.9 | 4.1.4 |
| --- | --- | --- | --- |
| rdd | shuffles | grants | - |
| tpch | queries | - | grants, **coarse: failed** |

## Features of Spark

| | | 4.1.4 |
| --- | --- | --- |
| barrier | meets | coarse |
`, tables)
}
