package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/spf13/pflag"
)

// Flags registers one flag for each key of the struct: journal.sync becomes
// --journal-sync, with the doc tag as its help and the default's value shown. Where the struct has
// common keys the flags of the others are hidden.
// The error names a flag that fs already has.
func Flags[T any](fs *pflag.FlagSet, defaults T) error {
	s, err := schemaOf(reflect.TypeOf(defaults))
	if err != nil {
		return err
	}
	v := reflect.ValueOf(defaults)
	anyCommon := s.anyCommon()
	for _, k := range s.keys {
		if fs.Lookup(k.Flag) != nil {
			return fmt.Errorf("configuration key %q needs flag --%s, which is defined already", k.Path, k.Flag)
		}
		text := k.textOf(v.FieldByIndex(k.index), false)
		f := &pflag.Flag{Name: k.Flag, Usage: k.Doc, DefValue: text, Value: &flagValue{key: k, text: text}, Hidden: anyCommon && !k.Common}
		if k.Type == "bool" {
			f.NoOptDefVal = "true" // --flag alone means true
		}
		fs.AddFlag(f)
	}
	return nil
}

// flagValue is a pflag.Value that checks its text by the rules of the key.
type flagValue struct {
	key   Key
	text  string
	value any  // typed, nil until Set
	again bool // it was set: a repeated list flag adds to its list, any other replaces its value
}

func (f *flagValue) String() string { return f.text }
func (f *flagValue) Type() string   { return f.key.Type }

func (f *flagValue) Set(text string) error {
	v, err := f.key.parse(text)
	if err != nil {
		return err
	}
	if items, ok := v.([]string); ok && f.again {
		before, _ := f.value.([]string)
		v = slices.Concat(before, items)
		text = f.text + "," + text
	}
	f.value, f.text, f.again = v, text, true
	return nil
}

// readFlags returns the values of the flags that were set. A flag with the name
// of a key that [Flags] did not register is a mistake of the programmer.
func readFlags(fs *pflag.FlagSet, s schema) (map[string]given, error) {
	out := map[string]given{}
	if fs == nil {
		return out, nil
	}
	var problems []error
	for _, k := range s.keys {
		f := fs.Lookup(k.Flag)
		if f == nil || !f.Changed {
			continue
		}
		v, ok := f.Value.(*flagValue)
		if !ok {
			problems = append(problems, fmt.Errorf("configuration key %q: flag --%s was not registered by config.Flags", k.Path, k.Flag))
			continue
		}
		out[k.Path] = given{v.value, "flag", "--" + k.Flag}
	}
	return out, errors.Join(problems...)
}
