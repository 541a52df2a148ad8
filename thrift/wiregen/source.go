package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// field is a field of a struct; its type is written as from another package.
type field struct{ name, typ string }

// sources holds the declarations of the folders, by package.Name. They are read from the
// syntax alone, so package wire need not compile before its conversions exist.
type sources struct {
	structs map[string][]field
	named   map[string]string // the right side of other type declarations
}

func parseFolders(top string) (sources, error) {
	s := sources{structs: map[string][]field{}, named: map[string]string{}}
	for pkg, folder := range folders {
		files, err := filepath.Glob(filepath.Join(top, folder, "*.go"))
		if err != nil {
			return s, err
		}
		if len(files) == 0 {
			return s, fmt.Errorf("%s holds no Go files", folder)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return s, err
			}
			s.add(pkg, f)
		}
	}
	return s, nil
}

func (s sources) add(pkg string, f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		t, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		name := pkg + "." + t.Name.Name
		if body, ok := t.Type.(*ast.StructType); ok {
			for _, line := range body.Fields.List {
				for _, id := range line.Names {
					s.structs[name] = append(s.structs[name], field{id.Name, typeName(pkg, line.Type)})
				}
			}
			return false
		}
		s.named[name] = typeName(pkg, t.Type)
		return false
	})
}

// typeName writes a type as from another package.
func typeName(pkg string, t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		if ast.IsExported(t.Name) {
			return pkg + "." + t.Name
		}
		return t.Name
	case *ast.SelectorExpr:
		return typeName(pkg, t.X) + "." + t.Sel.Name
	case *ast.StarExpr:
		return "*" + typeName(pkg, t.X)
	case *ast.ArrayType:
		if t.Len == nil {
			return "[]" + typeName(pkg, t.Elt)
		}
	}
	return fmt.Sprintf("%T", t)
}

// underlying returns the type behind the name of one, as far as it is declared in
// the folders.
func (s sources) underlying(typ string) string {
	for {
		next, ok := s.named[typ]
		if !ok {
			return typ
		}
		typ = next
	}
}
