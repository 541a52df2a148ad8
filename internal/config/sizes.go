package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// The sizes of a cluster. A key with the tag sizes:"SMALL,LARGE" has these defaults in a small and a large
// cluster, and its default in a medium one; the key limits says which it is.
const (
	Small  = "small"
	Medium = "medium"
	Large  = "large"
)

// limitsKey is the setting that is a size.
const limitsKey = "limits"

// Sizes are all sizes, from the least.
func Sizes() []string { return []string{Small, Medium, Large} }

// sizes reads the tag of a key, nil for one without.
func (k Key) sizes(tag string) (map[string]any, error) {
	if tag == "" {
		return nil, nil
	}
	small, large, _ := strings.Cut(tag, ",")
	out := map[string]any{}
	for size, text := range map[string]string{Small: small, Large: large} {
		v, err := k.parse(text)
		if err != nil {
			return nil, fmt.Errorf("configuration: key %s, the tag sizes: %w", k.Path, err)
		}
		out[size] = v
	}
	return out, nil
}

// sized returns the defaults of a cluster of a size. For what is no size they stay as they are; the struct's
// Validate refuses it.
func (s schema) sized(defaults reflect.Value, size string) reflect.Value {
	out := reflect.New(defaults.Type()).Elem()
	out.Set(defaults)
	for _, k := range s.keys {
		if v, ok := k.bySize[size]; ok {
			out.FieldByIndex(k.index).Set(reflect.ValueOf(v).Convert(k.typ))
		}
	}
	return out
}

// sizeOf returns the size that a struct has.
func (s schema) sizeOf(values reflect.Value) string {
	if k, ok := s.find(limitsKey); ok {
		return values.FieldByIndex(k.index).String()
	}
	return Medium
}

// sizeFrom returns the size that the last of the sources gives, else that of the defaults.
func (s schema) sizeFrom(defaults reflect.Value, sources ...map[string]given) string {
	size := s.sizeOf(defaults)
	for _, source := range sources {
		if text, ok := source[limitsKey].value.(string); ok {
			size = text
		}
	}
	return size
}

// LimitsTable returns a row for each key whose default is by size: the key, its defaults by size
func LimitsTable[T any](defaults T) (rows [][]string, err error) {
	s, err := schemaOf(reflect.TypeOf(defaults))
	for _, k := range s.keys {
		if k.bySize == nil {
			continue
		}
		row := []string{k.Path}
		for _, size := range Sizes() {
			row = append(row, k.textOf(s.sized(reflect.ValueOf(defaults), size).FieldByIndex(k.index), false))
		}
		rows = append(rows, row)
	}
	return rows, err
}

// IsSize reports whether a text is a size.
func IsSize(text string) bool { return slices.Contains(Sizes(), text) }
