package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/nearest"
)

// readEnviron returns the values of the keys' variables. A PIGEON_ variable that
// belongs to no key and is not among the known ones is an error: it was meant to
// change something and would not.
func readEnviron(environ []string, s schema, known []string) (map[string]given, error) {
	byName := make(map[string]Key, len(s.keys))
	names := slices.Clone(known)
	for _, k := range s.keys {
		byName[k.Env] = k
		names = append(names, k.Env)
	}

	out := map[string]given{}
	var problems []error
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, EnvPrefix) || text == "" {
			continue
		}
		k, ours := byName[name]
		if !ours {
			if !slices.Contains(known, name) {
				problems = append(problems, unknownVariable(name, names))
			}
			continue
		}
		v, err := k.parse(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("environment variable %s%s (key %q): %w", name, k.refused("=", text), k.Path, err))
			continue
		}
		out[k.Path] = given{v, "environment", name}
	}
	return out, errors.Join(problems...)
}

func unknownVariable(name string, names []string) error {
	hint := "no variable of this prefix is known here"
	if n := nearest.Word(name, names); n != "" {
		hint = "the nearest known one is " + n
	}
	return fmt.Errorf("environment variable %s is not read by anything: %s; correct or unset it", name, hint)
}
