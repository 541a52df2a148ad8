package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Source is what may override the defaults. The zero Source overrides nothing.
type Source struct {
	File     string         // path of a YAML file, "" for none
	Environ  []string       // "NAME=value", as of os.Environ
	Flags    *pflag.FlagSet // with the flags of [Flags]; only those that were set count
	KnownEnv []string       // PIGEON_ variables that others read, so no misspellings of ours
}

// Origin is one effective setting and where it came from.
type Origin struct {
	Key   string `json:"key"`             // of the setting, with dots
	Value any    `json:"value"`           // in effect; a duration in seconds
	Text  string `json:"text"`            // the value as a file would have it, without quotes
	From  string `json:"from"`            // default, file, environment or flag
	Where string `json:"where,omitempty"` // file:line, variable or flag
}

// Origins lists every setting in the order of the struct's fields.
type Origins []Origin

// FieldError is what a Validate method returns about one key. Load adds the
// value and where it came from.
type FieldError struct {
	Key     string // path, "journal.sync"
	Problem string // what is wrong and what would be right
}

func (e *FieldError) Error() string { return e.Key + ": " + e.Problem }

// given is a value from a source other than the defaults.
type given struct {
	value       any
	from, where string
}

// Load merges the sources over the defaults. When T or *T has a method
// Validate() error, it is called last. Errors are those of the user (unknown
// key, misspelt variable, wrong type, refused by Validate), all mistakes found
// in one source joined, or those of a struct with wrong tags.
func Load[T any](defaults T, src Source) (T, Origins, error) {
	var none T
	s, err := schemaOf(reflect.TypeOf(defaults))
	if err != nil {
		return none, nil, err
	}
	fromFile, err := readFile(src.File, s)
	if err != nil {
		return none, nil, err
	}
	fromEnv, err := readEnviron(src.Environ, s, src.KnownEnv)
	if err != nil {
		return none, nil, err
	}
	fromFlags, err := readFlags(src.Flags, s)
	if err != nil {
		return none, nil, err
	}
	cfg := defaults
	if err := merge(&cfg, s, fromFile, fromEnv, fromFlags); err != nil {
		return none, nil, err
	}
	origins := describe(reflect.ValueOf(cfg), s, fromFlags, fromEnv, fromFile)
	if err := validate(&cfg, origins); err != nil {
		return none, nil, err
	}
	return cfg, origins, nil
}

// merge decodes into cfg. Every value already has its key's type, so viper is
// asked for exactness: no weak conversion, no unused key.
func merge(cfg any, s schema, file, env, flags map[string]given) error {
	v := viper.NewWithOptions(viper.KeyDelimiter(delimiter))
	defaults := reflect.ValueOf(cfg).Elem()
	for _, k := range s.keys {
		v.SetDefault(k.internal(), defaults.FieldByIndex(k.index).Interface())
	}
	if err := v.MergeConfigMap(nest(file)); err != nil {
		return fmt.Errorf("configuration: merging the file: %w", err)
	}
	for _, source := range []map[string]given{env, flags} { // the later wins
		for path, g := range source {
			v.Set(strings.ReplaceAll(path, ".", delimiter), g.value)
		}
	}
	err := v.UnmarshalExact(cfg, func(c *mapstructure.DecoderConfig) {
		c.WeaklyTypedInput = false
		c.DecodeHook = nil
		// Lists replace: without this a shorter list keeps the tail of the default.
		c.ZeroFields = true
	})
	if err != nil {
		return fmt.Errorf("configuration: decoding into %T: %w", cfg, err)
	}
	return nil
}

// nest turns {"journal.sync": v} into {"journal": {"sync": v}}.
func nest(flat map[string]given) map[string]any {
	out := map[string]any{}
	for path, g := range flat {
		at := out
		parts := strings.Split(path, ".")
		for _, p := range parts[:len(parts)-1] {
			inner, ok := at[p].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[p] = inner
			}
			at = inner
		}
		at[parts[len(parts)-1]] = g.value
	}
	return out
}

// validate asks T itself, and puts value and origin to the key it names.
func validate(cfg any, origins Origins) error {
	v, ok := cfg.(interface{ Validate() error })
	if !ok {
		return nil
	}
	err := v.Validate()
	var field *FieldError
	if !errors.As(err, &field) {
		return err
	}
	for _, o := range origins {
		if o.Key == field.Key {
			return fmt.Errorf("configuration key %q with value %q (%s): %w", o.Key, o.Text, o.Place(), err)
		}
	}
	return fmt.Errorf("configuration: %w", err)
}
