package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pigeon-sched/pigeon/internal/nearest"
)

// entrySchema is the keys of each entry of a setting that is a list of structs. A list and
// not a section, because keys of sections are known in advance and their case does not
// count, and neither holds for names that users choose.
type entrySchema struct {
	typ  reflect.Type
	keys []Key
	none reflect.Value // an entry without any key: its defaults
}

// entrySchemaOf reads the tags mapstructure, doc and default of a struct whose fields are
// single values. Fields without the tag default have their zero value when they are left
// out.
func entrySchemaOf(t reflect.Type) (*entrySchema, error) {
	e := &entrySchema{typ: t, none: reflect.New(t).Elem()}
	for i := range t.NumField() {
		f := t.Field(i)
		k := Key{Path: f.Tag.Get("mapstructure"), Doc: f.Tag.Get("doc"), Type: typeName(f.Type), index: []int{i}, typ: f.Type}
		if !f.IsExported() || !keyShape.MatchString(k.Path) || k.Doc == "" || k.Type == "" || k.Type == "list" || k.Type == "entries" {
			return nil, fmt.Errorf("configuration %v: field %s of an entry needs to be exported, of a single value, with the tags mapstructure and doc", t, f.Name)
		}
		if text := f.Tag.Get("default"); text != "" {
			v, err := k.parse(text)
			if err != nil {
				return nil, fmt.Errorf("configuration %v: default of field %s: %w", t, f.Name, err)
			}
			e.set(e.none, k, v)
		}
		e.keys = append(e.keys, k)
	}
	return e, nil
}

func (e *entrySchema) set(entry reflect.Value, k Key, v any) {
	entry.FieldByIndex(k.index).Set(reflect.ValueOf(v).Convert(k.typ))
}

func (e *entrySchema) names() []string {
	names := make([]string, len(e.keys))
	for i, k := range e.keys {
		names[i] = k.Path
	}
	return names
}

// expected returns what such a list looks like.
func (e *entrySchema) expected() string {
	return fmt.Sprintf("a list of entries in braces, such as [{%s: ...}, {%s: ...}], with the keys %s", e.keys[0].Path, e.keys[0].Path, strings.Join(e.names(), ", "))
}

// entryProblem is a mistake in a list of entries and where it is.
type entryProblem struct {
	at   *yaml.Node
	text string
}

// read returns the entries of a node, a slice of the structs, and every mistake. path is
// the key of the list.
func (e *entrySchema) read(path string, n *yaml.Node) (list any, problems []entryProblem) {
	refuse := func(at *yaml.Node, format string, args ...any) {
		problems = append(problems, entryProblem{at, fmt.Sprintf(format, args...)})
	}
	out := reflect.MakeSlice(reflect.SliceOf(e.typ), 0, len(n.Content))
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return out.Interface(), nil // a heading whose entries are all commented out
	case n.Kind != yaml.SequenceNode:
		refuse(n, "key %q with value %s: expected %s, got %s", path, show(n), e.expected(), kindName(n))
		return out.Interface(), problems
	}
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i+1)
		if item.Kind != yaml.MappingNode {
			refuse(item, "entry %s: expected keys with values, got %s", at, kindName(item))
			continue
		}
		entry := reflect.New(e.typ).Elem()
		entry.Set(e.none)
		seen := map[string]bool{}
		for j := 0; j+1 < len(item.Content); j += 2 {
			name, value := item.Content[j], item.Content[j+1]
			k, ok := e.key(name.Value)
			switch {
			case name.Tag == mergeKey:
				refuse(name, "entry %s: merge keys (<<) are not read; write the keys of the other entry themselves", at)
				continue
			case !ok || name.Kind != yaml.ScalarNode:
				refuse(name, "entry %s has the unknown key %s; the nearest known one is %q. Correct or delete it", at, show(name), nearest.Word(name.Value, e.names()))
				continue
			case seen[k.Path]:
				refuse(name, "entry %s has the key %q twice; delete one of them", at, k.Path)
				continue
			}
			seen[k.Path] = true
			v, err := scalarOrList(k, value)
			if err != nil {
				refuse(value, "entry %s, key %q with value %s: %v", at, k.Path, show(value), err)
				continue
			}
			e.set(entry, k, v)
		}
		out = reflect.Append(out, entry)
	}
	return out.Interface(), problems
}

func (e *entrySchema) key(name string) (Key, bool) {
	for _, k := range e.keys {
		if k.Path == name {
			return k, true
		}
	}
	return Key{}, false
}

// parse reads a flag or an environment variable: the list as a file has it.
func (e *entrySchema) parse(path, text string) (any, error) {
	if text == "" {
		return reflect.Zero(reflect.SliceOf(e.typ)).Interface(), nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) != 1 {
		return nil, fmt.Errorf("expected %s", e.expected())
	}
	list, problems := e.read(path, doc.Content[0])
	var all []error
	for _, p := range problems {
		all = append(all, errors.New(p.text))
	}
	return list, errors.Join(all...)
}

// text returns a list as a file has it, without the keys whose values are the defaults.
func (e *entrySchema) text(list reflect.Value) string {
	entries := make([]string, list.Len())
	for i := range entries {
		var fields []string
		for _, k := range e.keys {
			text, usual := k.textOf(list.Index(i).FieldByIndex(k.index), true), k.textOf(e.none.FieldByIndex(k.index), true)
			if text != usual {
				fields = append(fields, k.Path+": "+text)
			}
		}
		entries[i] = "{" + strings.Join(fields, ", ") + "}"
	}
	return "[" + strings.Join(entries, ", ") + "]"
}
