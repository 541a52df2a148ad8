package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A quotation in a comment names a page of docs/, a section of it, and what it says:
//
//	docs/design.md, section 2, rule 1: "Execution is at least once ... exactly once."
//	docs/policies.md, pigeon-x: "`canary` (on)"; "It is stopped and queued again"
//
// The section is its number or its title. " ... " stands for words that are left out.
// The marks of bold text and of quotations inside one do not count.
var (
	quotation = regexp.MustCompile(`docs/([a-z-]+\.md), ([^":;]+): "[^"]+"(?:[;,] "[^"]+")*`)
	quoted    = regexp.MustCompile(`"[^"]+"`)
	sectionNo = regexp.MustCompile(`^section (\d+)`)
)

// A passage is one quotation.
type passage struct{ page, section, text string }

// quotations returns the passages that a comment quotes.
func quotations(comment string) (found []passage) {
	for _, m := range quotation.FindAllStringSubmatch(fold(comment), -1) {
		for _, text := range quoted.FindAllString(m[0], -1) {
			found = append(found, passage{m[1], m[2], strings.Trim(text, `"`)})
		}
	}
	return found
}

// in reports whether a page says the passage in its section.
func (p passage) in(page string) bool {
	for section := range strings.SplitSeq(page, "\n## ") {
		title, _, _ := strings.Cut(section, "\n")
		if n := sectionNo.FindStringSubmatch(p.section); n != nil && strings.HasPrefix(title, n[1]+". ") || title == p.section {
			return p.within(section)
		}
	}
	return false
}

// within reports whether a text has all parts of the passage, in their order.
func (p passage) within(text string) bool {
	rest := plain(text)
	for part := range strings.SplitSeq(plain(p.text), " ... ") {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			return false
		}
		rest = after
	}
	return true
}

func fold(text string) string { return strings.Join(strings.Fields(text), " ") }

func plain(text string) string {
	return strings.NewReplacer("**", "", `"`, "'").Replace(fold(text))
}

func TestQuotations(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := map[string]string{}
	checked := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "target" || d.Name() == "gen" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || filepath.Dir(path) == ".":
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range f.Comments {
			for _, p := range quotations(group.Text()) {
				if _, ok := pages[p.page]; !ok {
					text, err := os.ReadFile(filepath.Join(root, "docs", p.page))
					if err != nil {
						t.Errorf("%s quotes a page that cannot be read: %v", fset.Position(group.Pos()), err)
					}
					pages[p.page] = string(text)
				}
				if checked++; !p.in(pages[p.page]) {
					t.Errorf("%s: docs/%s, %s, does not say %q; quote what it says today", fset.Position(group.Pos()), p.page, p.section, p.text)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked == 0 {
		t.Error("no quotation was found")
	}
	t.Logf("%d quotations of %d pages", checked, len(pages))
}

func TestQuotationIsHeld(t *testing.T) {
	const page = "# Page\n\n## 1. One\n\n1. **Alike** and \"so\n   on\", to the end.\n\n## two\n\nAlike here."
	for comment, want := range map[string][]bool{
		"TestX: as docs/page.md says.":                             nil,
		"docs/page.md, section 1, rule 1: \"Alike and\n'so on'\".": {true},
		`docs/page.md, section 1: "Alike ... the end."`:            {true},
		`docs/page.md, section 1: "the end ... Alike"`:             {false},
		`docs/page.md, two: "Alike here."; "and"`:                  {true, false},
		`docs/page.md, section 1: "Alike here."`:                   {false},
		`docs/page.md, three: "Alike"`:                             {false},
	} {
		var got []bool
		for _, p := range quotations(comment) {
			got = append(got, p.in(page))
		}
		if len(got) != len(want) {
			t.Errorf("%q has %d quotations, want %d", comment, len(got), len(want))
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: quotation %d is held: %v, want %v", comment, i, got[i], want[i])
			}
		}
	}
}
