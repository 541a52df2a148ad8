package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The glossary names the words of the domain; ordinaryWords lists the words of
// programming that need no explanation. The names of packages, files and exported
// types consist of these words only, so a new word is a decision and not an accident.
const (
	glossary      = "docs/glossary.md"
	ordinaryWords = "internal/archtest/testdata/ordinary-words.txt"
)

// glossaryRow is a line of the glossary's table: the term, its meaning, and the places
// in which it lives.
type glossaryRow struct {
	term   string
	places []string // in backquotes: package, package.Name, file or folder
}

var (
	tableRow   = regexp.MustCompile(`^\| \*?\*?([^|*]+?)\*?\*? \| (.+) \| (.*) \|$`)
	backquoted = regexp.MustCompile("`([^`]+)`")
)

func readGlossary(t *testing.T, root string) (rows []glossaryRow) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, glossary))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		m := tableRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || m[1] == "word" || strings.HasPrefix(m[1], "---") {
			continue
		}
		row := glossaryRow{term: m[1]}
		for _, q := range backquoted.FindAllStringSubmatch(m[3], -1) {
			row.places = append(row.places, q[1])
		}
		rows = append(rows, row)
	}
	if len(rows) < 50 {
		t.Fatalf("%s has %d rows that this test can read; it reads lines of the form | word | meaning | where |", glossary, len(rows))
	}
	return rows
}

// endingInS are words that are no plurals.
var endingInS = []string{"kairos", "nats", "chaos", "axis", "series"}

// singular maps a word and its plural to the same string.
func singular(word string) string {
	switch {
	case slices.Contains(endingInS, word):
		return word
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		return strings.TrimSuffix(word, "ies") + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "xes"), strings.HasSuffix(word, "ches"), strings.HasSuffix(word, "shes"):
		return strings.TrimSuffix(word, "es")
	case strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && len(word) > 2:
		return strings.TrimSuffix(word, "s")
	default:
		return word
	}
}

// split returns the words of a name, in lower case and singular.
func split(name string) (words []string) {
	parts := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, part := range parts {
		for part != "" {
			n := wordLength(part)
			words = append(words, singular(strings.ToLower(part[:n])))
			part = part[n:]
		}
	}
	return words
}

// wordLength returns the length of the word at the beginning of an identifier. An
// abbreviation ends before the capital that begins the next word; its plural s belongs
// to it.
func wordLength(s string) int {
	lead := strings.IndexFunc(s, unicode.IsLower)
	switch {
	case lead < 0:
		return len(s)
	case lead > 1 && s[lead:] != "s":
		return lead - 1
	case lead > 1:
		return len(s)
	}
	if end := strings.IndexFunc(s[1:], unicode.IsUpper); end >= 0 {
		return end + 1
	}
	return len(s)
}

// declaration is the name of a package, a file or an exported type, and where it is.
type declaration struct{ name, at string }

// declarations returns the names that the glossary governs, and every identifier of the
// packages that ship (package.Name, package.Type.Name).
func declarations(t *testing.T, pkgs []pkg) (list []declaration, identifiers map[string]bool) {
	t.Helper()
	identifiers = map[string]bool{}
	for _, p := range pkgs {
		if under(p.path(), "thrift/gen") {
			continue
		}
		list = append(list, declaration{filepath.Base(p.path()), "package " + p.path()})
		for _, file := range p.GoFiles {
			at := filepath.Join(p.path(), file)
			list = append(list, declaration{strings.TrimSuffix(file, ".go"), at})
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%s: %v", at, err)
				continue
			}
			for _, d := range f.Decls {
				for _, id := range identifiersOf(d) {
					identifiers[f.Name.Name+"."+id] = true
				}
				for _, typ := range exportedTypes(d) {
					list = append(list, declaration{typ, fmt.Sprintf("type %s.%s in %s", f.Name.Name, typ, at)})
				}
			}
		}
	}
	return list, identifiers
}

func exportedTypes(d ast.Decl) (names []string) {
	if g, ok := d.(*ast.GenDecl); ok {
		for _, s := range g.Specs {
			if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
				names = append(names, s.Name.Name)
			}
		}
	}
	return names
}

// identifiersOf returns Name, Type.Method and Type.Field for what a declaration declares.
func identifiersOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		return []string{receiver(d.Recv.List[0].Type) + "." + d.Name.Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
				for _, field := range fieldsOf(s.Type) {
					names = append(names, s.Name.Name+"."+field)
				}
			}
		}
	}
	return names
}

func fieldsOf(e ast.Expr) (names []string) {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		for _, id := range field.Names {
			names = append(names, id.Name)
		}
	}
	return names
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	default:
		return ""
	}
}

func moduleRoot(t *testing.T, pkgs []pkg) string {
	t.Helper()
	for _, p := range pkgs {
		if p.path() == "internal/archtest" {
			return filepath.Join(p.Dir, "..", "..")
		}
	}
	t.Fatal("go list does not find this package")
	return ""
}

func readOrdinaryWords(t *testing.T, root string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ordinaryWords))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// TestNamesUseTheGlossary: the words in the names of packages, files and exported types
// are in the glossary, or ordinary.
func TestNamesUseTheGlossary(t *testing.T) {
	pkgs := shipped(t)
	root := moduleRoot(t, pkgs)
	known := map[string]bool{}
	for _, row := range readGlossary(t, root) {
		for _, w := range split(row.term) {
			known[w] = true
		}
	}
	ordinary := map[string]bool{}
	for _, w := range readOrdinaryWords(t, root) {
		ordinary[w] = true
		if known[w] {
			t.Errorf("%s: %q is in %s already; remove it here", ordinaryWords, w, glossary)
		}
	}
	list, _ := declarations(t, pkgs)
	used, unknown := map[string]bool{}, map[string][]string{}
	for _, d := range list {
		for _, w := range split(d.name) {
			used[w] = true
			if !known[w] && !ordinary[w] {
				unknown[w] = append(unknown[w], d.at)
			}
		}
	}
	for _, w := range slices.Sorted(maps.Keys(unknown)) {
		t.Errorf("the word %q (%s) is neither in %s nor ordinary; use the glossary's word for the thing, enter a new term there, or, for a word of programming, in %s",
			w, strings.Join(unknown[w][:min(3, len(unknown[w]))], "; "), glossary, ordinaryWords)
	}
	for _, w := range slices.Sorted(maps.Keys(ordinary)) {
		if !used[w] {
			t.Errorf("%s: no package, file or exported type uses %q; remove it", ordinaryWords, w)
		}
	}
}

// TestGlossaryPlacesExist: every place in the glossary's third column exists.
func TestGlossaryPlacesExist(t *testing.T) {
	pkgs := shipped(t)
	root := moduleRoot(t, pkgs)
	_, identifiers := declarations(t, pkgs)
	for _, row := range readGlossary(t, root) {
		for _, place := range row.places {
			if identifiers[place] {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, place)); err != nil {
				t.Errorf("%s: %q lives in `%s`, which is neither a file, a folder nor package.Name of this module", glossary, row.term, place)
			}
		}
	}
}

// TestSplitNames: the words of identifiers and file names as the tests above see them.
func TestSplitNames(t *testing.T) {
	for in, want := range map[string]string{
		"WorkerLost": "worker lost", "HTTPServer": "http server", "jobs_test": "job test", "IDs": "id", "sleep/alarm_linux": "sleep alarm linux",
		"queries": "query", "Class": "class", "MaxFrame": "max frame", "JSON": "json", "addresses": "address", "status": "status",
	} {
		if got := strings.Join(split(in), " "); got != want {
			t.Errorf("split(%q) = %q, want %q", in, got, want)
		}
	}
}
