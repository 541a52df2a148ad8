package config

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// describe lists every key with its effective value, without secrets; sources are in order of
// precedence, the strongest first.
func describe(cfg reflect.Value, s schema, size string, sources ...map[string]given) Origins {
	out := make(Origins, 0, len(s.keys))
	for _, k := range s.keys {
		field := k.shown(cfg.FieldByIndex(k.index))
		o := Origin{Key: k.Path, Value: field.Interface(), Text: k.textOf(field, false), From: "default"}
		if d, ok := o.Value.(time.Duration); ok {
			o.Value = d.Seconds()
		}
		if _, is := k.bySize[size]; is {
			o.From, o.Where = limitsKey, size
		}
		for _, source := range sources {
			if g, ok := source[k.Path]; ok {
				o.From, o.Where = g.from, g.where
				break
			}
		}
		out = append(out, o)
	}
	return out
}

// Place returns the origin in words: "file frontend.yaml:3", "default".
func (o Origin) Place() string {
	return strings.TrimSpace(o.From + " " + o.Where)
}

// Get returns the origin of a key, false when there is no such key.
func (o Origins) Get(key string) (Origin, bool) {
	if i := slices.IndexFunc(o, func(one Origin) bool { return one.Key == key }); i >= 0 {
		return o[i], true
	}
	return Origin{}, false
}
