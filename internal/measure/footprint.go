package measure

import (
	"reflect"
	"unsafe"
)

// Footprint returns the memory of a value: the bytes of all that can be
// reached from it, whatever its fields' names, and the entries of its slices and
// maps. A value that is reached twice counts once; a slice counts with its
// capacity, a map with 4/3 of its entries, about what its table has room for.
// Variables that a function has captured are not seen.
//
// Two values that share something each count it: a daemon has no neighbour to share
// with.
func Footprint(of any) (bytes, entries int64) {
	w := footprint{seen: map[unsafe.Pointer]bool{}, flat: map[reflect.Type]bool{}}
	w.add(reflect.ValueOf(of))
	return w.bytes, w.entries
}

type footprint struct {
	bytes, entries int64
	seen           map[unsafe.Pointer]bool
	flat           map[reflect.Type]bool // types that point to nothing, or do
}

// add counts what lies outside of v itself.
func (w *footprint) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && w.first(v.UnsafePointer()) {
			w.bytes += size(v.Type().Elem())
			w.inside(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			if v.Elem().Kind() != reflect.Pointer {
				w.bytes += size(v.Elem().Type())
			}
			w.add(v.Elem())
		}
	case reflect.Slice:
		if v.Cap() > 0 && w.first(v.UnsafePointer()) {
			w.bytes += int64(v.Cap()) * size(v.Type().Elem())
			w.entries += int64(v.Len())
			w.elements(v)
		}
	case reflect.String:
		if v.Len() > 0 && w.first(unsafe.Pointer(unsafe.StringData(v.String()))) { //nolint:gosec // only compared
			w.bytes += int64(v.Len())
		}
	case reflect.Map:
		w.table(v)
	case reflect.Struct, reflect.Array:
		w.inside(v)
	}
}

// first reports whether a place is met for the first time. An empty struct at the
// place of its owner's end, for example, may hide a neighbour: it is a few bytes.
func (w *footprint) first(at unsafe.Pointer) bool {
	if w.seen[at] {
		return false
	}
	w.seen[at] = true
	return true
}

func (w *footprint) inside(v reflect.Value) {
	switch {
	case w.pointless(v.Type()):
	case v.Kind() == reflect.Struct:
		for _, field := range v.Fields() {
			w.add(field)
		}
	case v.Kind() == reflect.Array:
		w.elements(v)
	default:
		w.add(v)
	}
}

func (w *footprint) elements(v reflect.Value) {
	if w.pointless(v.Type().Elem()) {
		return
	}
	for i := range v.Len() {
		w.inside(v.Index(i))
	}
}

func (w *footprint) table(v reflect.Value) {
	if v.IsNil() || !w.first(v.UnsafePointer()) {
		return
	}
	key, value := v.Type().Key(), v.Type().Elem()
	w.bytes += int64(v.Len()) * (size(key) + size(value) + 1) * 4 / 3
	w.entries += int64(v.Len())
	if w.pointless(key) && w.pointless(value) {
		return
	}
	for i := v.MapRange(); i.Next(); {
		w.inside(i.Key())
		w.inside(i.Value())
	}
}

// pointless reports whether values of a type point to nothing.
func (w *footprint) pointless(t reflect.Type) bool {
	flat, known := w.flat[t]
	if known {
		return flat
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.String, reflect.Map:
	case reflect.Array:
		flat = w.pointless(t.Elem())
	case reflect.Struct:
		flat = true
		for field := range t.Fields() {
			flat = flat && w.pointless(field.Type)
		}
	default: // numbers; functions and channels are not followed
		flat = true
	}
	w.flat[t] = flat
	return flat
}

func size(t reflect.Type) int64 { return int64(t.Size()) } //nolint:gosec // of one value
