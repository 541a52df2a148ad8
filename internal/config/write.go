package config

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

// lineWidth is the longest line of a comment.
const lineWidth = 100

// Write writes values as a YAML file that [Load] reads back to the same struct:
// heading as the first comment, then each key with its doc tag as the comment.
// A value that differs from the default has the default next to it.
func Write[T any](w io.Writer, heading string, values, defaults T) error {
	return write(w, heading, values, defaults, allKeys)
}

// WriteCommon is Write of the common keys, and of those whose values are not the defaults. It returns
// how many keys it left out.
func WriteCommon[T any](w io.Writer, heading string, values, defaults T) (left int, err error) {
	s, err := schemaOf(reflect.TypeOf(values))
	if err != nil {
		return 0, err
	}
	if !s.anyCommon() {
		return 0, write(w, heading, values, defaults, allKeys)
	}
	v := reflect.ValueOf(values)
	d := s.sized(reflect.ValueOf(defaults), s.sizeOf(v))
	for _, k := range s.keys {
		if !k.Common && k.textOf(v.FieldByIndex(k.index), true) == k.textOf(d.FieldByIndex(k.index), true) {
			left++
		}
	}
	return left, write(w, heading, values, defaults, commonKeys)
}

// WriteChanged is Write without the keys whose values are the defaults: a program that
// does not know these keys yet can read the file.
func WriteChanged[T any](w io.Writer, heading string, values, defaults T) error {
	return write(w, heading, values, defaults, changedKeys)
}

// selection is which keys are written.
type selection int

const (
	allKeys     selection = iota
	commonKeys            // and those that differ from their defaults
	changedKeys           // that differ from their defaults
)

func write[T any](w io.Writer, heading string, values, defaults T, keys selection) error {
	s, err := schemaOf(reflect.TypeOf(values))
	if err != nil {
		return err
	}
	var b strings.Builder
	comment(&b, "", heading)
	comment(&b, "", "A flag overrides the environment, which overrides this file: key a.b_c is flag --a-b-c and variable "+EnvPrefix+"A_B_C.")
	v := reflect.ValueOf(values)
	out := yamlWriter{b: &b, schema: s, values: v, defaults: s.sized(reflect.ValueOf(defaults), s.sizeOf(v)), keys: keys}
	out.section("")
	_, err = io.WriteString(w, b.String())
	if err != nil {
		return fmt.Errorf("configuration could not be written: %w", err)
	}
	return nil
}

type yamlWriter struct {
	b                *strings.Builder
	schema           schema
	values, defaults reflect.Value
	keys             selection
}

// section writes the keys directly under prefix, then the sections below it.
func (w *yamlWriter) section(prefix string) {
	indent := strings.Repeat("  ", strings.Count(prefix, "."))
	for _, k := range w.schema.keys {
		if name, ok := child(prefix, k.Path); ok {
			w.key(k, name, indent)
		}
	}
	for _, sec := range w.schema.sections {
		name, ok := child(prefix, sec.path)
		if !ok {
			continue
		}
		w.b.WriteString("\n")
		comment(w.b, indent, sec.doc)
		w.b.WriteString(indent + name + ":\n")
		w.section(sec.path + ".")
	}
}

func (w *yamlWriter) key(k Key, name, indent string) {
	text := k.textOf(w.values.FieldByIndex(k.index), true)
	usual := k.textOf(w.defaults.FieldByIndex(k.index), true)
	if text == usual && (w.keys == changedKeys || w.keys == commonKeys && !k.Common) {
		return
	}
	w.b.WriteString("\n")
	doc := k.Doc
	if text != usual {
		doc += " (default " + usual + ")"
	}
	comment(w.b, indent, doc)
	w.b.WriteString(indent + name + ": " + text + "\n")
}

// child returns the last part of path when path lies directly under prefix.
func child(prefix, path string) (string, bool) {
	name, ok := strings.CutPrefix(path, prefix)
	return name, ok && !strings.Contains(name, ".")
}

func comment(b *strings.Builder, indent, text string) {
	line := indent + "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > lineWidth && line != indent+"#" {
			b.WriteString(line + "\n")
			line = indent + "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
