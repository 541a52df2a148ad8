package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/nearest"
)

// readEnviron takes the variables of our keys out of the environment. A
// PIGEON_ variable that is neither a key's nor known is refused: it was meant
// to change something and would not.
func readEnviron(environ []string, s schema, known []string) (map[string]given, error) {
	byName := make(map[string]Key, len(s.keys))
	names := make([]string, 0, len(s.keys)+len(known))
	for _, k := range s.keys {
		byName[k.Env] = k
		names = append(names, k.Env)
	}
	names = append(names, known...)
	others := make(map[string]bool, len(known))
	for _, n := range known {
		others[n] = true
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
			if !others[name] {
				problems = append(problems, unknownVariable(name, names))
			}
			continue
		}
		v, err := k.parse(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("environment variable %s=%q (key %q): %w", name, text, k.Path, err))
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
