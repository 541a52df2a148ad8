package clitest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/pigeon-sched/pigeon/internal/documents"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// JSONOutput is what a verb prints with -o json.
type JSONOutput struct {
	Verb string
	When string // "" for a verb that prints one kind of object
	Of   reflect.Type
	On   string // link to the section of another page that has the object; "" for this page
}

// JSONPage is the page of a program.
type JSONPage struct {
	Program string // its name
	Main    string // folder of its package main, from the root of the checkout
	// Introduction comes first; its %s is the list of verbs.
	Introduction string
	Outputs      []JSONOutput
}

// Check fails where the file is not the page of a program, or writes it.
func (p *JSONPage) Check(t testing.TB, root *cobra.Command, file string, update bool) {
	t.Helper()
	text := p.text(t, root)
	if update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(committed, text) {
		t.Errorf("%s is not up to date with the types; run 'make json' and see what has changed: keys are a contract", file)
	}
}

// text returns the page, and fails for verbs with -o that it leaves out.
func (p *JSONPage) text(t testing.TB, root *cobra.Command) []byte {
	t.Helper()
	folder, err := documents.Root()
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{page: p, root: folder, comments: map[string]map[string]string{}}
	fmt.Fprintf(&w.out, p.Introduction, strings.Join(p.verbs(t, root), ", "))
	for _, printed := range p.Outputs {
		w.verb(t, printed)
	}
	for len(w.later) > 0 {
		next := w.later[0]
		w.later = w.later[1:]
		fmt.Fprintf(&w.out, "## %s\n\n", next.Name())
		w.fields(t, next)
	}
	return w.out.Bytes()
}

func (p *JSONPage) verbs(t testing.TB, root *cobra.Command) (verbs []string) {
	t.Helper()
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		verb := strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")
		if cmd.Flags().Lookup("output") != nil {
			if strings.HasPrefix(verb, "config show ") {
				verb = "config show"
			}
			if !slices.ContainsFunc(p.Outputs, func(p JSONOutput) bool { return p.Verb == verb }) {
				t.Errorf("%s %s has -o json, and the page does not say what it prints; add its type and run 'make json'", root.Name(), verb)
			}
			verbs = append(verbs, "`"+verb+"`")
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(root)
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

type writer struct {
	page     *JSONPage
	out      bytes.Buffer
	lastVerb string
	seen     []reflect.Type
	later    []reflect.Type // objects inside of others, in the order found
	root     string
	comments map[string]map[string]string // by package, then Type.Field
}

func (w *writer) verb(t testing.TB, p JSONOutput) {
	t.Helper()
	if p.Verb != w.lastVerb {
		fmt.Fprintf(&w.out, "## %s %s\n\n", w.page.Program, p.Verb)
		w.lastVerb = p.Verb
	}
	if p.When != "" {
		fmt.Fprintf(&w.out, "%s%s: ", strings.ToUpper(p.When[:1]), p.When[1:])
	}
	if p.On != "" {
		fmt.Fprintf(&w.out, "an object as of %s.\n\n", p.On)
		return
	}
	if slices.Contains(w.seen, p.Of) {
		fmt.Fprintf(&w.out, "an object as of %s.\n\n", linkTo(w.page.Program+" "+w.verbOf(p.Of)))
		return
	}
	w.seen = append(w.seen, p.Of)
	if p.When != "" {
		w.out.WriteString("an object.\n\n")
	}
	w.fields(t, p.Of)
}

// verbOf returns the verb whose section has an object, "" for one inside of others.
func (w *writer) verbOf(object reflect.Type) string {
	for _, p := range w.page.Outputs {
		if p.Of == object {
			return p.Verb
		}
	}
	return ""
}

// linkTo returns a link to a section of the page.
func linkTo(heading string) string {
	return fmt.Sprintf("[%s](#%s)", heading, strings.ToLower(strings.ReplaceAll(heading, " ", "-")))
}

// fields writes the list of the keys of an object.
func (w *writer) fields(t testing.TB, object reflect.Type) {
	t.Helper()
	w.rows(t, object, false)
	w.out.WriteString("\n")
}

// rows writes a line for each key; absent: an object has all of them or none.
func (w *writer) rows(t testing.TB, object reflect.Type, absent bool) {
	t.Helper()
	for f := range object.Fields() {
		tag, _ := f.Tag.Lookup("json")
		key, options, _ := strings.Cut(tag, ",")
		switch inner := f.Type; {
		case f.Anonymous && key == "":
			pointer := inner.Kind() == reflect.Pointer
			if pointer {
				inner = inner.Elem()
			}
			if slices.Contains(w.seen, inner) && w.verbOf(inner) != "" {
				fmt.Fprintf(&w.out, "- the keys of %s\n", linkTo(w.page.Program+" "+w.verbOf(inner)))
				continue
			}
			w.rows(t, inner, absent || pointer)
			continue
		case !f.IsExported() || key == "-":
			continue
		case key == "":
			t.Errorf("%v.%s has no key", object, f.Name)
		}
		meaning := w.comment(t, object, f.Name)
		if meaning == "" {
			t.Errorf("%v.%s (%s) has no comment", object, f.Name, key)
		}
		kind, omitted := w.kind(f.Type), strings.Contains(options, "omitempty")
		if f.Type.Kind() == reflect.Pointer && !omitted {
			kind = strings.TrimSuffix(kind, "?") + "?" // nil is null
		}
		if omitted || absent {
			kind += ", optional"
		}
		fmt.Fprintf(&w.out, "- `%s` (%s): %s\n", key, kind, meaning)
	}
}

// kind names the JSON of a Go type.
func (w *writer) kind(t reflect.Type) string {
	if t == reflect.TypeFor[time.Time]() {
		return "string"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.kind(t.Elem())
	case reflect.Slice:
		return "list of " + w.kind(t.Elem())
	case reflect.Map:
		return "object of " + w.kind(t.Elem()) + "s by name"
	case reflect.Struct:
		if w.verbOf(t) == "" && !slices.Contains(w.seen, t) {
			w.seen, w.later = append(w.seen, t), append(w.later, t)
		}
		if verb := w.verbOf(t); verb != "" {
			return linkTo(w.page.Program + " " + verb)
		}
		return linkTo(t.Name())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Interface:
		return "any"
	case reflect.Float64:
		if t == reflect.TypeFor[measure.Number]() {
			return "number?"
		}
		return "number"
	default:
		return "integer"
	}
}

// comment returns the comment of a field in the sources.
func (w *writer) comment(t testing.TB, object reflect.Type, field string) string {
	t.Helper()
	const module = "github.com/pigeon-sched/pigeon/"
	path := strings.TrimPrefix(object.PkgPath(), module)
	if path == "main" {
		path = w.page.Main
	}
	if w.comments[path] == nil {
		w.comments[path] = fieldComments(t, filepath.Join(w.root, path))
	}
	return w.comments[path][object.Name()+"."+field]
}

func fieldComments(t testing.TB, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			object, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range object.Fields.List {
				for _, name := range f.Names {
					found[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
				}
			}
			return true
		})
	}
	return found
}
