package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// warned is a row of the table of warnings in docs/operations.md.
var warned = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| [^|]+ \\|$")

// warnings returns the messages that a file logs as warnings, by a logger or by a function of its
// package that limits how often (thrift/server). For one that is put together, its beginning.
func warnings(f *ast.File) (messages []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != "Warn" && selector.Sel.Name != "warn" {
			return true
		}
		arg := call.Args[0]
		if _, isName := arg.(*ast.Ident); isName && selector.Sel.Name == "warn" && len(call.Args) > 1 {
			arg = call.Args[1]
		}
		for {
			sum, ok := arg.(*ast.BinaryExpr)
			if !ok {
				break
			}
			arg = sum.X
		}
		if text, ok := arg.(*ast.BasicLit); ok && text.Kind == token.STRING {
			if message, err := strconv.Unquote(text.Value); err == nil {
				messages = append(messages, strings.TrimSpace(message))
			}
		}
		return true
	})
	return messages
}

// TestWarningsAreExplained: docs/operations.md explains each message that a daemon logs as
// a warning what to do, and of no other.
func TestWarningsAreExplained(t *testing.T) {
	root := moduleRoot(t, shipped(t))
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{} // whether it was found in the source
	for _, row := range warned.FindAllStringSubmatch(string(page), -1) {
		if _, twice := explained[row[1]]; twice {
			t.Errorf("docs/operations.md explains %q twice", row[1])
		}
		explained[row[1]] = false
	}
	for _, path := range sources(t, root) {
		folder, _, _ := strings.Cut(strings.TrimPrefix(path, root+"/"), "/")
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || folder == "bench" || folder == "tools" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range warnings(f) {
			if _, ok := explained[message]; !ok {
				t.Errorf("%s logs the warning %q, which docs/operations.md does not explain; add a row to its table", strings.TrimPrefix(path, root+"/"), message)
			}
			explained[message] = true
		}
	}
	for message, found := range explained {
		if !found {
			t.Errorf("docs/operations.md explains the warning %q, which nothing logs", message)
		}
	}
	if len(explained) < 40 {
		t.Errorf("%d warnings were found; the test reads the wrong files", len(explained))
	}
}
