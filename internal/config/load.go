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
	KnownEnv []string       // other PIGEON_ variables; they are not taken for misspellings
	// FromEnv is the variable that names File, "" when it was named in another way.
	FromEnv string
	// Elsewhere returns what else has a configuration with the key, "" for nothing; nil: nothing.
	Elsewhere func(key string) string
}

// Origin is one effective setting and where it came from.
type Origin struct {
	Key   string `json:"key"`             // of the setting, with dots
	Value any    `json:"value"`           // in effect; a duration in seconds
	Text  string `json:"text"`            // the value as a file would have it, without quotes
	From  string `json:"from"`            // default, limits, file, environment or flag
	Where string `json:"where,omitempty"` // file:line, variable, flag, or size (limits)
}

// Origins lists every setting in the order of the struct's fields.
type Origins []Origin

// FieldError is what a Validate method returns about one key. Load adds the
// value and where it came from.
type FieldError struct {
	Key     string // path, "journal.sync"
	Problem string // the mistake and the remedy
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
	fromFile, err := readFile(&src, s)
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
	size := s.sizeFrom(reflect.ValueOf(defaults), fromFile, fromEnv, fromFlags)
	cfg, _ := reflect.TypeAssert[T](s.sized(reflect.ValueOf(defaults), size))
	if err := merge(&cfg, s, fromFile, fromEnv, fromFlags); err != nil {
		return none, nil, err
	}
	origins := describe(reflect.ValueOf(cfg), s, size, fromFlags, fromEnv, fromFile)
	if err := validate(&cfg, origins); err != nil {
		return none, nil, err
	}
	return cfg, origins, nil
}

// merge decodes the sources into cfg, a later source over an earlier one. Every
// value already has its key's type, so viper must neither convert one nor meet a
// key without a field.
func merge(cfg any, s schema, sources ...map[string]given) error {
	v := viper.New()
	defaults := reflect.ValueOf(cfg).Elem()
	for _, k := range s.keys {
		v.SetDefault(k.Path, defaults.FieldByIndex(k.index).Interface())
	}
	for _, source := range sources {
		for path, g := range source {
			v.Set(path, g.value)
		}
	}
	err := v.UnmarshalExact(cfg, func(c *mapstructure.DecoderConfig) {
		c.WeaklyTypedInput = false
		c.DecodeHook = nil
		// A list replaces the default; otherwise a shorter list would keep its tail.
		c.ZeroFields = true
	})
	if err != nil {
		return fmt.Errorf("configuration: decoding into %T: %w", cfg, err)
	}
	return nil
}

// validate calls the method Validate of cfg, if it has one, and adds value and
// origin to an error about a key.
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
	if o, ok := origins.Get(field.Key); ok {
		return fmt.Errorf("configuration key %q with value %q (%s): %w", o.Key, shortened(o.Text), o.Place(), err)
	}
	return fmt.Errorf("configuration: %w", err)
}

// shortened returns a value as an error shows it: lists may be long.
func shortened(text string) string {
	const most = 400
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
