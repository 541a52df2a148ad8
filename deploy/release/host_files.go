package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shells are those with completions, and the names of their files.
var shells = map[string]string{"bash": "pigeon.bash", "zsh": "_pigeon", "fish": "pigeon.fish"}

// writeHostFiles makes the program write the files that are the same on all platforms: completions and
// the settings of a host.
func (r *release) writeHostFiles(ctx context.Context) error {
	program, all := r.staged(own(), "pigeon"), platform{}
	environ := withoutSettings(os.Environ())
	write := func(path string, args ...string) error {
		text, err := output(ctx, r.source, environ, program, args...)
		if err != nil {
			return err
		}
		return writeFile(path, text)
	}
	for _, shell := range slices.Sorted(maps.Keys(shells)) {
		if err := write(r.staged(all, "completions", shells[shell]), "completion", shell); err != nil {
			return err
		}
	}
	for _, role := range slices.Sorted(maps.Keys(r.settings.Settings)) {
		args := append([]string{"config", "write", role}, r.settings.Settings[role]...)
		if err := write(r.staged(all, "etc", role+".yaml"), args...); err != nil {
			return err
		}
	}
	return nil
}

// withoutSettings returns an environment without Pigeon's own variables.
func withoutSettings(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "PIGEON_") })
}

// writeFile writes a file below folders that may be missing.
func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
