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

	signatures map[string]signature // of the methods of interfaces, by package.Interface.Method
}

func parseFolders(top string) (sources, error) {
	s := sources{structs: map[string][]field{}, named: map[string]string{}, signatures: map[string]signature{}}
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
		if body, ok := t.Type.(*ast.InterfaceType); ok {
			s.addMethods(pkg, name, body)
			return false
		}
		s.named[name] = typeName(pkg, t.Type)
		return false
	})
}

// addMethods adds the methods of an interface that take a context first and return an error last, with at most
// one result before.
func (s sources) addMethods(pkg, name string, body *ast.InterfaceType) {
	for _, m := range body.Methods.List {
		f, ok := m.Type.(*ast.FuncType)
		if !ok || f.Results == nil || len(m.Names) == 0 {
			continue
		}
		params, results := parameters(pkg, f.Params), parameters(pkg, f.Results)
		if len(params) == 0 || params[0].typ != "context.Context" || len(results) > 2 || results[len(results)-1].typ != "error" {
			continue
		}
		v := signature{params: params[1:]}
		if len(results) == 2 {
			v.result = results[0].typ
		}
		s.signatures[name+"."+m.Names[0].Name] = v
	}
}

func parameters(pkg string, list *ast.FieldList) (all []field) {
	for _, p := range list.List {
		names := []string{""}
		if len(p.Names) > 0 {
			names = names[:0]
		}
		for _, id := range p.Names {
			names = append(names, id.Name)
		}
		for _, name := range names {
			all = append(all, field{name, typeName(pkg, p.Type)})
		}
	}
	return all
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
