package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPartsOfDaemonsAreListed: the package comment of a daemon, and its row in
// docs/architecture.md, name each of the packages in its folder, so that whoever follows a task
// through them learns of all parts.
func TestPartsOfDaemonsAreListed(t *testing.T) {
	pkgs := shipped(t)
	root := moduleRoot(t, pkgs)
	page := read(t, filepath.Join(root, "docs", "architecture.md"))
	for _, daemon := range daemons {
		_, row, _ := strings.Cut(page, "\n| `"+daemon+"/` |")
		row, _, _ = strings.Cut(row, "\n")
		comment := read(t, filepath.Join(root, daemon, "doc.go"))
		parts := 0
		for _, p := range pkgs {
			part, below := strings.CutPrefix(p.path(), daemon+"/")
			if !below || strings.Contains(part, "/") {
				continue
			}
			parts++
			if !regexp.MustCompile(`(?m)^//\t *` + part + ` `).MatchString(comment) {
				t.Errorf("the package comment of %s does not list %s", daemon, part)
			}
			if !strings.Contains(row, "`"+part) {
				t.Errorf("the row of %s in docs/architecture.md does not name %s", daemon, part)
			}
		}
		if parts < 2 {
			t.Errorf("%d packages were found in the folder of %s, want two or more", parts, daemon)
		}
	}
}

// TestFunctionsOnTheWayOfATask: the table of docs/architecture.md by which newcomers read the code
// names functions that are declared in the files of their row.
func TestFunctionsOnTheWayOfATask(t *testing.T) {
	root := moduleRoot(t, shipped(t))
	page := read(t, filepath.Join(root, "docs", "architecture.md"))
	_, table, _ := strings.Cut(page, "\n| where | file | functions |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	name := regexp.MustCompile("`([^`]+)`")
	functions := 0
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 || !strings.Contains(cells[2], "`") {
			continue
		}
		var code strings.Builder
		for _, file := range name.FindAllStringSubmatch(cells[2], -1) {
			code.WriteString(read(t, filepath.Join(root, file[1])))
		}
		for _, function := range name.FindAllStringSubmatch(cells[3], -1) {
			functions++
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + function[1] + `[(\[]`).MatchString(code.String()) {
				t.Errorf("docs/architecture.md, the way of a task: no function %s is declared in%s; name the function that a task now takes there", function[1], cells[2])
			}
		}
	}
	if functions < 20 {
		t.Errorf("the table names %d functions, want 20 or more", functions)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
