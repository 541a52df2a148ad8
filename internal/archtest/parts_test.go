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

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
