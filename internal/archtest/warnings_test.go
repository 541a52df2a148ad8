package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// warned is a row of the table of messages in docs/operations.md.
var warned = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\|$")

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

// errorsLogged returns the messages that a file logs as errors. Parts that are not written in the
// source are "...".
func errorsLogged(f *ast.File) (messages []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != "Error" || !isLogger(selector.X) {
			return true
		}
		messages = append(messages, strings.TrimSpace(written(call.Args[0])))
		return true
	})
	return messages
}

// isLogger reports whether an expression is a logger, by its name or by that of a function that
// returns one.
func isLogger(x ast.Expr) bool {
	name := ""
	switch x := x.(type) {
	case *ast.CallExpr:
		made, ok := x.Fun.(*ast.SelectorExpr)
		return ok && (made.Sel.Name == "LogTrace" || made.Sel.Name == "With")
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	return slices.Contains([]string{"log", "Log", "logger", "Logger"}, name)
}

// written returns a text as far as the source has it.
func written(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BinaryExpr:
		return written(x.X) + written(x.Y)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil {
			return text
		}
	}
	return "..."
}

// TestTheLogIsExplained: each row of the table of docs/operations.md is about a message that a daemon
// logs as a warning or an error, and is there once.
func TestTheLogIsExplained(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t, shipped(t))
	_, page, found := strings.Cut(read(t, filepath.Join(root, "docs", "operations.md")), "\n## What the log asks for\n")
	if !found {
		t.Fatal("docs/operations.md has no section of that name")
	}
	page, _, _ = strings.Cut(page, "\n## ")
	logged := map[string]bool{}
	for _, path := range sources(t, root) {
		folder, _, _ := strings.Cut(strings.TrimPrefix(path, root+"/"), "/")
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || folder == "bench" || folder == "tools" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range slices.Concat(warnings(f), errorsLogged(f)) {
			logged[message] = true
		}
	}
	rows := map[string]bool{}
	for _, row := range warned.FindAllStringSubmatch(page, -1) {
		switch message := row[1]; {
		case rows[message]:
			t.Errorf("docs/operations.md has %q twice", message)
		case !logged[message]:
			t.Errorf("docs/operations.md explains %q, and nothing logs it", message)
		default:
			rows[message] = true
		}
	}
	if len(rows) < 20 {
		t.Errorf("%d rows were found; the test reads the wrong table", len(rows))
	}
}
