package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// EnvPrefix begins every environment variable that Pigeon reads.
const EnvPrefix = "PIGEON_"

// Key is one setting, as the struct's tags define it.
type Key struct {
	Path string // as users write it, "journal.sync"
	Flag string // without dashes in front, "journal-sync"
	Env  string // "PIGEON_JOURNAL_SYNC"
	Doc  string // effect, unit, formula
	Type string // "duration", "integer", ... as error messages name it
	// Common is set for the settings that most clusters have to choose: help and written files show
	// these, and the others on demand.
	Common bool

	index []int        // field path in the struct
	typ   reflect.Type // of that field
	entry *entrySchema // of Type "entries"
	join  string       // of the tag: a list in a file stands for its elements with this between them
	hide  bool         // of the tag: of NAME=value the name alone is shown, and nothing of a value that is refused

	bySize map[string]any // defaults by size of the cluster, nil where they are the same
}

// section is a nested struct: a heading in the file, not a setting itself.
type section struct {
	path, doc string
}

// schema is the struct's keys in the order of its fields.
type schema struct {
	keys     []Key
	sections []section
}

var keyShape = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Keys returns the settings of a configuration struct in the order of its
// fields. The error names the field whose tags are wrong, a mistake of the
// programmer and not of the user.
func Keys[T any](defaults T) ([]Key, error) {
	s, err := schemaOf(reflect.TypeOf(defaults))
	return s.keys, err
}

func schemaOf(t reflect.Type) (schema, error) {
	var s schema
	if t == nil || t.Kind() != reflect.Struct {
		return s, fmt.Errorf("configuration must be a struct, not %v", t)
	}
	if err := s.collect(t, "", nil); err != nil {
		return s, err
	}
	seen := map[string]string{}
	for _, k := range s.keys {
		if other, ok := seen[k.Flag]; ok {
			return s, fmt.Errorf("configuration %v: keys %q and %q would both be flag --%s; rename one", t, other, k.Path, k.Flag)
		}
		seen[k.Flag] = k.Path
	}
	return s, nil
}

func (s *schema) collect(t reflect.Type, prefix string, index []int) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("mapstructure")
		if name == "-" {
			continue
		}
		at := append(slices.Clone(index), i)
		if f.Anonymous && name == ",squash" {
			if err := s.collect(f.Type, prefix, at); err != nil {
				return err
			}
			continue
		}
		doc := f.Tag.Get("doc")
		if !f.IsExported() || !keyShape.MatchString(name) || doc == "" {
			return fmt.Errorf("configuration %v: field %s needs to be exported, with the tags mapstructure (lower case, %v) and doc, or mapstructure:\"-\"", t, f.Name, keyShape)
		}
		path := prefix + name
		if f.Type.Kind() == reflect.Struct {
			s.sections = append(s.sections, section{path, doc})
			if err := s.collect(f.Type, path+".", at); err != nil {
				return err
			}
			continue
		}
		typ := typeName(f.Type)
		if typ == "" {
			return fmt.Errorf("configuration %v: field %s has type %v; use string, bool, int, int64, uint64, float64, time.Duration, []string, a struct or a slice of structs of these", t, f.Name, f.Type)
		}
		var entry *entrySchema
		if typ == "entries" {
			var err error
			if entry, err = entrySchemaOf(f.Type.Elem()); err != nil {
				return err
			}
		}
		k := Key{
			Path: path, Doc: doc, Type: typ, index: at, typ: f.Type, entry: entry, join: f.Tag.Get("join"), hide: f.Tag.Get("hide") == "values", Common: f.Tag.Get("common") == "yes",
			Flag: strings.NewReplacer(".", "-", "_", "-").Replace(path),
			Env:  EnvPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_")),
		}
		var err error
		if k.bySize, err = k.sizes(f.Tag.Get("sizes")); err != nil {
			return err
		}
		s.keys = append(s.keys, k)
	}
	return nil
}

// typeName names a type as error messages and flag usage do; "" when no setting
// can have it.
func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return "list"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return "entries"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Uint64:
		return "size"
	case reflect.Float64:
		return "number"
	}
	return ""
}

// anyCommon reports whether the struct says which keys are common; else all are shown.
func (s schema) anyCommon() bool {
	return slices.ContainsFunc(s.keys, func(k Key) bool { return k.Common })
}

func (s schema) find(path string) (Key, bool) {
	if i := slices.IndexFunc(s.keys, func(k Key) bool { return k.Path == path }); i >= 0 {
		return s.keys[i], true
	}
	return Key{}, false
}

func (s schema) isSection(path string) bool {
	return slices.ContainsFunc(s.sections, func(sec section) bool { return sec.path == path })
}

func (s schema) paths() []string {
	out := make([]string, len(s.keys))
	for i, k := range s.keys {
		out[i] = k.Path
	}
	return out
}
