package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/documents"
)

// The budget of the house (docs/adr/0078-budget.md): one person holds what it bounds. A number is raised
// only together with a decision that names what went in its place.
var (
	// lines of Go that ships, with comments, without tests and generated code, by top folder.
	lineBudget = map[string]int{
		"client": 1_280, "cluster": 1_990, "cmd": 12_600, "frontend": 23_240, "internal": 57_700, "master": 4_925, "nodemonitor": 22_580,
		"thrift": 7_965, "packaging": 30, "sparkplugin": 940, "bench": 19_700, "deploy": 2_160,
	}
	packageBudget    = 150    // of the product
	dependencyBudget = 27     // direct, of the product, with those of its tests
	wordBudget       = 59_200 // of docs/ without decisions, which have a bound of their own
	readmeBudget     = 70     // lines
)

// TestBudget: the tree is not above its budget.
func TestBudget(t *testing.T) {
	t.Parallel()
	root, err := documents.Root()
	if err != nil {
		t.Fatal(err)
	}
	const advice = "take something away, or raise the budget together with a decision that names what went in its place (docs/adr/0078-budget.md)"
	for folder, n := range shippedLines(t, root) {
		if n > lineBudget[folder] {
			t.Errorf("%s has %d lines of Go that ships, more than %d; %s", folder, n, lineBudget[folder], advice)
		}
	}
	if n := len(list(t, root, "./...")); n > packageBudget {
		t.Errorf("the product has %d packages, more than %d; %s", n, packageBudget, advice)
	}
	if n := directDependencies(t, filepath.Join(root, "go.mod")); n > dependencyBudget {
		t.Errorf("the product has %d direct dependencies, more than %d; %s", n, dependencyBudget, advice)
	}
	words := 0
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "adr" {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			words += len(bytes.Fields(text))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if words > wordBudget {
		t.Errorf("docs/ has %d words, more than %d; %s", words, wordBudget, advice)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(readme, []byte("\n")); n > readmeBudget {
		t.Errorf("README.md has %d lines, more than %d; %s", n, readmeBudget, advice)
	}
	t.Logf("%d words in docs/, %v lines of Go", words, shippedLines(t, root))
}

// shippedLines counts by top folder.
func shippedLines(t *testing.T, root string) map[string]int {
	t.Helper()
	lines := map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"out", "bin", "testdata", "node_modules", "target"}, name)) {
			return fs.SkipDir
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.HasPrefix(text, []byte("// Code generated")) {
			return err
		}
		below, err := filepath.Rel(root, path)
		lines[strings.Split(below, string(filepath.Separator))[0]] += bytes.Count(text, []byte("\n"))
		return err
	})
	if err != nil || lines["internal"] == 0 {
		t.Fatalf("%v, %v", lines, err)
	}
	return lines
}

// directDependencies counts the requirements of a go.mod that are not marked as indirect.
func directDependencies(t *testing.T, path string) (n int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "\t") && strings.Contains(line, " v") && !strings.Contains(line, "// indirect") {
			n++
		}
	}
	if n < 10 {
		t.Fatalf("%s has %d direct dependencies; nothing was checked", path, n)
	}
	return n
}
