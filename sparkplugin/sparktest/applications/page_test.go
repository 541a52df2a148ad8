package applications

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// writeTable adds the runs to the page for users. Its entries for runs that are not
// noted here, because another machine made them, stay.
func writeTable(file string) error {
	list, err := runs()
	if err != nil {
		return err
	}
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(file, page(renewed(onPage(string(before)), list)), 0o644)
}

// renewed returns the former runs and the new ones, the new one where both have one,
// in the words of this package's lists.
func renewed(before, now []run) (list []run) {
	same := func(x, y run) bool { return x.Name == y.Name && x.Version == y.Version && x.Mode == y.Mode }
	for _, r := range before {
		if !slices.ContainsFunc(now, func(n run) bool { return same(n, r) }) {
			list = append(list, r)
		}
	}
	for _, r := range now {
		var known bool
		if r.What, r.Feature, known = described(r.Name); known {
			list = append(list, r)
		}
	}
	return list
}

// onPage reads the runs back from a page. A row of a name that no longer exists is left out.
func onPage(text string) (list []run) {
	var versions []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|") || len(cells) < 3:
		case cells[0] == "":
			versions = cells[2:]
		default:
			list = append(list, inRow(cells, versions)...)
		}
	}
	return list
}

// inRow are the runs of the row of a grid.
func inRow(cells, versions []string) (list []run) {
	what, feature, known := described(cells[0])
	if !known {
		return nil
	}
	for i, cell := range cells[2:min(len(cells), 2+len(versions))] {
		for mode := range strings.SplitSeq(cell, ", ") {
			mode, failed := strings.CutSuffix(strings.TrimPrefix(mode, "**"), failure)
			if rank(mode) >= 0 {
				list = append(list, run{Version: versions[i], Name: cells[0], What: what, Mode: mode, Feature: feature, Passed: !failed})
			}
		}
	}
	return list
}

// described returns the description of a name in the lists of this package.
func described(name string) (what string, feature, known bool) {
	for _, a := range applications {
		if a.name == name {
			return a.what, false, true
		}
	}
	for _, f := range featureList() {
		if f.name == name {
			return f.what, true, true
		}
	}
	return "", false, false
}

func page(list []run) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, "# What ran on which Spark\n\n"+
		"Written by `make test-spark-lines` from the recorded runs; do not edit. Real daemons, two nodes of two slots. Each application is the same file everywhere, and must give the same answers on every line and in both modes of the plugin; *local*: the same Spark gave these answers with master `local[2]`. The programs and their answers are in `sparkplugin/sparktest/applications/testdata`.\n")
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

// failure is the text of a cell, between stars, for a mode that failed.
const failure = ": failed**"

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
			mode = "**" + mode + failure
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

// TestPageGrows: a page that is written again keeps the entries of what did not run
// since, and has the latest outcome of what did.
func TestPageGrows(t *testing.T) {
	row := func(name, version, mode string, passed bool) run {
		what, feature, known := described(name)
		holds(t, name+" is in the lists", known)
		return run{Version: version, Name: name, What: what, Mode: mode, Feature: feature, Passed: passed}
	}
	before := []run{
		row("rdd", "3.5.9", grants, true), row("rdd", "4.1.4", grants, true), row("rdd", "4.1.4", coarse, false),
		row("tpch", "4.1.4", grants, false), row("barrier", "4.1.4", coarse, true),
	}
	text := string(page(before))
	equal(t, text, string(page(onPage(text))))
	now := []run{row("tpch", "4.1.4", grants, true), row("rdd", "4.2.1", local, true)}
	noted := []run{now[0], {Version: "4.2.1", Name: "rdd", What: "as it was called before", Mode: local, Passed: true}, {Version: "4.2.1", Name: "no more", Mode: local}}
	equal(t, string(page([]run{before[0], before[1], before[2], before[4], now[0], now[1]})), string(page(renewed(onPage(text), noted))))
	gone := strings.ReplaceAll(text, "| tpch |", "| an older one |")
	equal(t, string(page([]run{before[0], before[1], before[2], before[4]})), string(page(onPage(gone))))
}
